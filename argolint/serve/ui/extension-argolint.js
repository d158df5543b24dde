// argolint's findings in Argo CD's own UI: an item of the status panel, its flyout, and a tab of the Application.
// Printed by `argolint extension`; argocd-server serves it to everybody, so there is no secret in it. It uses the page's own React (16 to 19).
((window) => {
  'use strict';
  const NAME = 'argolint', KEPT_MS = 60000, KEPT = 50;
  const SHAPE = { error: '\u25b2', warning: '\u25c6', info: '\u25cf' }, COLOR = { error: '#e96d76', warning: '#c88a00', info: '#0d8fc7' };
  const h = (...given) => window.React.createElement(...given);
  const text = (value) => value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const list = (value) => Array.isArray(value) ? value.filter((item) => item !== null && item !== undefined) : [];
  const count = (number, word, many = word + 's') => number + ' ' + (number === 1 ? word : many);
  const dim = { opacity: 0.75 };

  // The answer about an application, kept for a minute, so that item, flyout and tab ask once.
  const answers = new Map();
  const key = (app) => [app.metadata.namespace, app.metadata.name, app.spec.project].join('/');
  const ask = async (app) => {
    const answer = await fetch(new URL('extensions/' + NAME + '/api/v1/application', document.baseURI), {
      credentials: 'same-origin',
      headers: {
        'Accept': 'application/json',
        'Argocd-Application-Name': app.metadata.namespace + ':' + app.metadata.name,
        'Argocd-Project-Name': app.spec.project || 'default',
      },
    });
    const said = await answer.text();
    let data = null;
    try { data = JSON.parse(said); } catch { /* a sentence of Argo CD's */ }
    if (answer.ok && data && Array.isArray(data.findings)) return data;
    if (data && data.error) throw new Error(text(data.error));
    if (answer.status === 401 || answer.status === 403) throw new Error('Argo CD refuses: this needs the right "extensions, invoke, ' + NAME + '"');
    if (answer.status === 404 || answer.ok) throw new Error('Argo CD knows no proxy extension "' + NAME + '"');
    throw new Error('argolint does not answer (' + answer.status + ')');
  };
  const look = (app, anew) => {
    const kept = answers.get(key(app));
    if (kept && !anew && Date.now() - kept.at < KEPT_MS) return kept.promise;
    const made = { at: Date.now(), promise: ask(app).then((data) => ({ data }), (error) => ({ error: text(error && error.message) })) };
    answers.delete(key(app));
    answers.set(key(app), made);
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
    return made.promise;
  };
  // [what is known, look again]: {} while it is asked for, then {data} or {error}.
  const useFindings = (app) => {
    const { useEffect, useState } = window.React;
    const [state, set] = useState({}), [turn, again] = useState(0);
    const wanted = app ? key(app) : '';
    useEffect(() => {
      let gone = false;
      set({});
      if (app) look(app, turn > 0).then((found) => { if (!gone) set(found); });
      return () => { gone = true; };
    }, [wanted, turn]);
    return [state, () => again(turn + 1)];
  };
  const isApplication = (given) => given && given.kind !== 'ApplicationSet' && given.metadata && given.metadata.name && given.spec && typeof given.spec.project === 'string';

  const age = (time) => {
    const minutes = Math.round((Date.now() - Date.parse(time)) / 60000);
    if (!(minutes >= 0)) return '';
    return 'checked ' + (minutes < 1 ? 'just now' : (minutes < 120 ? count(minutes, 'minute') : minutes < 2880 ? count(Math.round(minutes / 60), 'hour') : count(Math.round(minutes / 1440), 'day')) + ' ago');
  };
  // One fault is counted once: what follows from it is listed under it.
  const counts = (data) => data.faults || data.counts || {};
  const total = (data) => ['error', 'warning', 'info'].reduce((sum, severity) => sum + (Number(counts(data)[severity]) || 0), 0);
  const worst = (data) => ['error', 'warning', 'info'].find((severity) => Number(counts(data)[severity]) > 0);
  const byLevel = (data) => ['error', 'warning', 'info'].filter((severity) => counts(data)[severity])
    .map((severity) => severity === 'info' ? counts(data).info + ' info' : count(counts(data)[severity], severity)).join(', ');
  const follows = (data, finding) => Boolean(finding.caused_by) && list(data.findings).some((other) => other.fingerprint === finding.caused_by);
  const level = (severity) => h('span', { 'aria-hidden': true, style: { color: COLOR[severity] || 'inherit', marginRight: '5px' } }, SHAPE[severity] || '');
  const subject = (found) => found ? text(found.kind) + ' ' + (found.namespace ? text(found.namespace) + '/' : '') + text(found.name) : '';
  const stranger = (app) => app.name ? text(app.namespace) + '/' + text(app.name) : 'an application of ' + (app.project ? 'project ' + text(app.project) : 'another project');

  const Copy = ({ content }) => {
    const [said, say] = window.React.useState('Copy');
    const copy = () => navigator.clipboard.writeText(content).then(() => say('Copied'), () => say('Select the text to copy it'));
    return navigator.clipboard ? h('button', { type: 'button', className: 'argo-button argo-button--base-o', onClick: copy }, said) : null;
  };
  const Fix = ({ fix }) => {
    const content = text((fix.edit || {}).content);
    return h('div', { style: { margin: '10px 0' } },
      h('b', null, 'Fix: ' + text(fix.title)), fix.verified ? ' \u2713 verified' : null,
      fix.where ? h('div', { style: dim }, text(fix.where)) : null,
      list(fix.before).map((command, n) => h('pre', { key: n, style: { overflowX: 'auto', margin: '5px 0' } }, text(command))),
      content ? h('pre', { style: { overflowX: 'auto', margin: '5px 0' }, tabIndex: 0 }, content) : null,
      content ? h(Copy, { content }) : null,
      fix.caveat ? h('div', null, 'Caveat: ' + text(fix.caveat)) : null,
      fix.unverified && /^(json-patch|yaml)$/.test((fix.edit || {}).kind) ? h('div', { style: dim }, 'Not verified: ' + text(fix.unverified)) : null);
  };
  const items = (title, all) => all.length ? h('div', null, h('div', { style: { marginTop: '10px' } }, h('b', null, title)),
    h('ul', { style: { listStyle: 'disc', paddingLeft: '20px', margin: '5px 0' } }, all.map((item, n) => h('li', { key: n }, item)))) : null;
  const Finding = ({ finding, below }) => {
    const related = list(finding.related).map((r) => text(r.role) + ': ' + (r.app ? stranger(r.app) : '') + (r.resource ? ' ' + subject(r.resource) : '') + (r.pointer ? ' ' + text(r.pointer) : ''));
    return h('details', { style: { padding: '10px 0', marginLeft: below ? '24px' : 0, borderTop: '1px solid rgba(128, 128, 128, 0.35)', overflowWrap: 'anywhere' } },
      h('summary', { style: { cursor: 'pointer' } }, level(finding.severity), h('b', null, text(finding.severity) + ' ' + text(finding.rule) + (finding.cause ? '/' + text(finding.cause) : '')),
        ' ', h('span', { style: dim }, subject(finding.resource)), h('div', null, text(finding.message))),
      finding.pointer ? h('div', { style: dim }, text(finding.pointer)) : null,
      finding.since ? h('div', { style: dim }, 'there since ' + text(finding.since)) : null,
      items('Evidence', list(finding.evidence).map(text)),
      list(finding.fixes).map((fix, n) => h(Fix, { key: n, fix })),
      finding.fixes_hidden ? h('div', { style: dim }, count(finding.fixes_hidden, 'fix', 'fixes') + ' left out: the names of applications of other projects stand there') : null,
      items('Related', related),
      /^https?:\/\//i.test(text(finding.docs)) ? h('a', { href: finding.docs, target: '_blank', rel: 'noopener noreferrer' }, 'About this rule') : null);
  };
  const Findings = ({ app }) => {
    const [{ data, error }, again] = useFindings(app);
    const button = h('button', { type: 'button', className: 'argo-button argo-button--base-o', style: { float: 'right' }, onClick: again }, 'Look again');
    const framed = (...inner) => h('div', { style: { padding: '20px' }, className: 'argolint-findings' }, button, ...inner);
    if (error) return framed(h('p', { role: 'alert' }, 'argolint: ' + error + '.'));
    if (!data) return framed(h('p', { role: 'status' }, 'argolint: loading\u2026'));
    return framed(
      h('h2', { style: { fontSize: '16px', margin: '0 0 10px' } }, total(data) ? 'argolint: ' + count(total(data), 'finding') + ': ' + byLevel(data) : 'argolint: no findings'),
      h('p', { style: dim, title: text(data.checked_at) }, age(data.checked_at) + (data.suppressed ? ', ' + data.suppressed + ' suppressed' : '')),
      data.complete ? null : h('p', { role: 'status' }, 'The last check is incomplete: findings may be missing.'),
      items('Not looked at', list(data.failures).map((f) => text(f.stage) + ': ' + text(f.error))),
      list(data.findings).map((finding, n) => h(Finding, { key: text(finding.fingerprint) + n, finding, below: follows(data, finding) })),
      data.left_out ? h('p', null, count(data.left_out, 'more finding') + ' not shown here, the least severe') : null);
  };
  const Item = ({ app, open }) => {
    const [{ data, error }] = useFindings(app);
    const found = data ? total(data) : 0;
    const said = error ? 'not available' : !data ? '\u2026' : found ? count(found, 'finding') : 'no findings';
    const below = data ? [byLevel(data), data.complete ? '' : 'check incomplete', age(data.checked_at)].filter(Boolean).join('; ') : error || '';
    return h('div', { className: 'application-status-panel__item' },
      h('div', { style: { display: 'flex', alignItems: 'center' } }, h('label', { style: { fontSize: '12px', fontWeight: 600, minHeight: '18px' } }, 'ARGOLINT')),
      h('div', { className: 'application-status-panel__item-value' },
        h('button', { type: 'button', onClick: open, 'aria-label': 'argolint: ' + said, style: { background: 'none', border: 0, padding: 0, font: 'inherit', color: 'inherit', cursor: 'pointer' } },
          data && found ? level(worst(data)) : null, said)),
      h('div', { className: 'application-status-panel__item-name' }, below));
  };

  const Flyout = ({ application }) => isApplication(application) ? h(Findings, { app: application }) : null;
  // The tab is also shown for an Application among the resources of another one: `resource` is the one it is about.
  const Tab = ({ resource }) => isApplication(resource) ? h(Findings, { app: resource }) : null;
  const Status = ({ application, openFlyout }) => isApplication(application) ? h(Item, { app: application, open: openFlyout }) : null;
  const api = window.extensionsAPI;
  if (api.registerStatusPanelExtension) api.registerStatusPanelExtension(Status, NAME, NAME, Flyout);
  api.registerResourceExtension(Tab, 'argoproj.io', 'Application', NAME, { icon: 'fa-check-double' });
})(window);
