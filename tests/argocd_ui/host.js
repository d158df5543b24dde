// As much of Argo CD's UI as an extension meets: the page's React as a global, extensionsAPI, the status panel with its flyout, and tabs of an Application.
(() => {
  'use strict';
  const React = window.React, h = React.createElement, found = { status: [], tabs: [] };
  window.extensionsAPI = {
    registerStatusPanelExtension: (component, title, id, flyout) => found.status.push({ component, title, id, flyout }),
    registerResourceExtension: (component, group, kind, title, options) => found.tabs.push({ component, group, kind, title, icon: options && options.icon }),
    registerSystemLevelExtension: () => { throw new Error('not used'); },
  };
  const Page = ({ application, child }) => {
    const [open, setOpen] = React.useState(''), [tab, setTab] = React.useState('');
    const flyout = found.status.find((e) => e.id === open), resource = tab === 'child' ? child : application;
    return h('main', null, h('h1', null, 'Argo CD'),
      h('div', { className: 'application-status-panel row', id: 'panel' }, found.status.map((e) => h(e.component, { key: e.title, application, openFlyout: () => setOpen(e.id) }))),
      flyout ? h('div', { id: 'flyout' }, h(flyout.flyout, { application, tree: {} })) : null,
      ['own', 'child'].map((name) => h('button', { key: name, id: 'show-' + name, onClick: () => setTab(name) }, 'tab of ' + name)),
      tab ? h('div', { id: 'tab' }, found.tabs.map((e) => h(e.component, { key: e.title, application, resource, tree: {} }))) : null);
  };
  const app = (name, project) => ({ kind: 'Application', metadata: { namespace: 'argocd', name }, spec: { project } });
  addEventListener('load', () => {
    const [name, project, child] = document.body.dataset.app.split(' ');
    const page = h(React.StrictMode, null, h(Page, { application: app(name, project), child: app(child, project) })), place = document.getElementById('app');
    window.registered = found;
    if (window.ReactDOM.createRoot) window.ReactDOM.createRoot(place).render(page);
    else window.ReactDOM.render(page, place);
  });
})();
