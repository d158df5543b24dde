'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const ROW = 44, WINDOWED = 400, CHUNK = 500, FACETS = ['severity', 'family', 'rule', 'project', 'cause'];
  const FIELDS = ['fingerprint', 'rule', 'family', 'severity', 'confidence', 'cause', 'argocd', 'project', 'namespace', 'app', 'kind',
    'ns', 'name', 'cluster', 'message', 'suppressed', 'new', 'since', 'causedBy', 'id'];
  const KEYS = { rule: 'rule', family: 'family', sev: 'severity', severity: 'severity', conf: 'confidence', confidence: 'confidence', cause: 'cause',
    argocd: 'argocd', project: 'project', app: 'app', cluster: 'cluster', kind: 'kind', ns: 'ns', name: 'name', is: 'is' };
  const SHORT = { severity: 'sev' }, RANK = { error: 0, warning: 1, info: 2 }, SHAPE = { error: '\u25b2', warning: '\u25c6', info: '\u25cf' };
  let rows = [], shown = [], everything = false, current = '';
  const chunks = new Map();

  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const inflate = async (id) => {
    const bytes = Uint8Array.from(atob($(id).textContent.trim()), (c) => c.charCodeAt(0));
    const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
    $(id).remove();
    return JSON.parse(text);
  };
  const details = (index) => {
    const number = Math.floor(index / CHUNK);
    if (!chunks.has(number)) chunks.set(number, inflate('details-' + number));
    return chunks.get(number).then((found) => found[index % CHUNK]);
  };

  // The words of a query: key:value, quotes around blanks, - negates, * is any text. One key twice: either value.
  const parse = (query) => {
    const terms = [];
    for (const found of query.matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi)) {
      const key = KEYS[(found[2] || '').toLowerCase()], value = found[3] ?? found[4];
      terms.push({ no: found[1] === '-', key: key || '', value: (key || !found[2] ? value : found[2] + ':' + value).toLowerCase() });
    }
    return terms;
  };
  const like = (text, wanted) => {
    const parts = wanted.split('*');
    if (parts.length === 1) return text === wanted;
    if (!text.startsWith(parts[0])) return false;
    let at = parts[0].length;
    for (const part of parts.slice(1, -1)) {
      const next = text.indexOf(part, at);
      if (next < 0) return false;
      at = next + part.length;
    }
    const end = parts[parts.length - 1];
    return text.length >= at + end.length && text.endsWith(end);
  };
  const meets = (row, term) => {
    if (!term.key) return row.words.includes(term.value);
    if (term.key === 'is') return term.value === 'suppressed' ? row.suppressed : term.value === 'new' ? row.new : term.value === 'active' && !row.suppressed;
    if (term.key === 'app' && term.value.includes('/')) return like((row.namespace + '/' + row.app).toLowerCase(), term.value);
    return like(String(row[term.key]).toLowerCase(), term.value);
  };
  const select = (query) => {
    const terms = parse(query), groups = new Map();
    const no = terms.filter((t) => t.no), words = terms.filter((t) => !t.no && !t.key);
    for (const term of terms.filter((t) => !t.no && t.key)) groups.set(term.key, [...(groups.get(term.key) || []), term]);
    const hidden = !terms.some((t) => t.key === 'is' && t.value === 'suppressed');
    return rows.filter((row) => !(hidden && row.suppressed) && !no.some((t) => meets(row, t)) && words.every((t) => meets(row, t)) &&
      [...groups.values()].every((group) => group.some((t) => meets(row, t))));
  };
  const ORDER = {
    worst: (a, b) => a.index - b.index,  // causes first, each before what follows from it
    severity: (a, b) => RANK[a.severity] - RANK[b.severity] || a.index - b.index,
    app: (a, b) => a.namespace.localeCompare(b.namespace) || a.app.localeCompare(b.app) || a.index - b.index,
    rule: (a, b) => a.rule.localeCompare(b.rule) || a.index - b.index,
    oldest: (a, b) => (a.since || '9').localeCompare(b.since || '9') || a.index - b.index,
  };

  // Where one is stands in the address: #/f/FINGERPRINT?q=QUERY&sort=ORDER
  const place = () => {
    const [path, query] = [location.hash.slice(1).split('?')[0], location.hash.split('?').slice(1).join('?')];
    const values = new URLSearchParams(query), sort = values.get('sort');
    let fingerprint = path.startsWith('/f/') ? path.slice(3) : '';
    try { fingerprint = decodeURIComponent(fingerprint); } catch { /* a link that was cut */ }
    return { fingerprint, q: values.get('q') || '', sort: ORDER[sort] ? sort : 'worst' };
  };
  const address = (fingerprint, q = $('query').value, sort = $('sort').value) => {
    const values = new URLSearchParams();
    if (q) values.set('q', q);
    if (sort !== 'worst') values.set('sort', sort);
    return '#' + (fingerprint ? '/f/' + encodeURIComponent(fingerprint) : '') + (values.size ? '?' + values : '');
  };
  const subject = (row) => row.kind ? row.kind + ' ' + (row.ns ? row.ns + '/' : '') + row.name : '';
  const level = (severity) => make('span', SHAPE[severity] + ' ' + severity, { class: 'level ' + severity });

  const known = new Set();
  const below = (row) => $('sort').value === 'worst' && row.causedBy && known.has(row.causedBy);
  let lastScrolled = '';
  const draw = (scrolled = false) => {
    const list = $('list'), inner = $('rows'), whole = everything || shown.length <= WINDOWED;
    const from = whole ? 0 : Math.max(0, Math.floor(list.scrollTop / ROW) - 10);
    const to = whole ? shown.length : Math.min(shown.length, from + Math.ceil(list.clientHeight / ROW) + 20);
    const range = from + '-' + to;
    if (scrolled && range === lastScrolled) return; // a row that is replaced between press and release gets no click
    lastScrolled = range;
    list.className = whole ? 'all' : 'windowed';
    inner.style.height = whole ? 'auto' : shown.length * ROW + 'px';
    const made = shown.slice(from, to).map((row, i) => {
      const item = make('div', '', { class: 'row', role: 'listitem', 'aria-setsize': shown.length, 'aria-posinset': from + i + 1 });
      if (!whole) item.style.top = (from + i) * ROW + 'px';
      const link = make('a', '', { href: address(row.id), 'data-at': from + i });
      if (row.id === current) link.setAttribute('aria-current', 'true');
      if (below(row)) link.className = 'below';
      const first = make('div');
      first.append(level(row.severity), ' ', make('b', row.rule + (row.cause ? '/' + row.cause : '')), ' ',
        make('span', row.label + ' ' + subject(row) + (row.suppressed ? ' (suppressed)' : '') + (row.new ? ' (new)' : ''), { class: 'app' }));
      link.append(first, make('div', row.message));
      item.append(link);
      return item;
    });
    inner.replaceChildren(...made);
  };
  const facets = () => {
    const box = $('facets'), terms = parse($('query').value);
    box.replaceChildren();
    for (const field of FACETS) {
      const counts = new Map();
      for (const row of shown) if (row[field]) counts.set(row[field], (counts.get(row[field]) || 0) + 1);
      const top = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, field === 'cause' ? 8 : 14);
      for (const [value, count] of top) {
        const on = terms.some((t) => !t.no && t.key === field && like(value.toLowerCase(), t.value));
        const chip = make('button', (SHORT[field] || field) + ':' + value + ' ' + count, { type: 'button', 'aria-pressed': on, 'data-facet': field, 'data-value': value, 'data-count': count });
        const term = (SHORT[field] || field) + ':' + (/["\s]/.test(value) ? '"' + value.replaceAll('"', '*') + '"' : value);
        chip.onclick = () => search(on ? $('query').value.replace(term, '').replace(/\s+/g, ' ').trim() : ($('query').value + ' ' + term).trim());
        box.append(chip);
      }
    }
  };
  const filter = () => {
    shown = select($('query').value).sort(ORDER[$('sort').value]);
    known.clear();
    for (const row of shown) known.add(row.fingerprint);
    asked();
    $('list').scrollTop = 0;
    $('count').textContent = shown.length.toLocaleString('en') + ' of ' + rows.length.toLocaleString('en') + ' findings';
    draw();
    facets();
  };
  // Who follows a link, or searches, wants what it names first: the causes fold, below it.
  const asked = () => {
    const some = Boolean($('query').value || current);
    document.querySelector('main').classList.toggle('asked', some);
    const causes = document.querySelector('#roots > details');
    if (causes && some !== asked.before) causes.open = !some;
    asked.before = some;
  };
  const search = (q) => { $('query').value = q; history.replaceState(null, '', address(current)); filter(); };

  const copy = (text) => {
    const button = make('button', 'Copy', { type: 'button', class: 'copy' });
    button.onclick = async () => {
      try { await navigator.clipboard.writeText(text); } catch {
        const area = make('textarea', text);
        document.body.append(area);
        area.select();
        document.execCommand('copy');
        area.remove();
      }
      button.textContent = 'Copied';
    };
    return button;
  };
  const link = (text, to) => /^https?:\/\//i.test(to) ? make('a', text, { href: to, rel: 'noreferrer noopener' }) : make('span', text);
  const items = (texts) => { const list = make('ul'); list.append(...texts.map((t) => t instanceof Node ? t : make('li', t))); return list; };
  const toFinding = (row) => { const item = make('li'); item.append(make('a', row.rule + ' ' + row.label + ' ' + subject(row), { href: address(row.id) })); return item; };
  // Its row in the list, and the detail where one looks: not below the fold, at no size.
  const show = (row) => {
    const at = shown.indexOf(row), list = $('list');
    if (at >= 0 && (at * ROW < list.scrollTop || (at + 1) * ROW > list.scrollTop + list.clientHeight)) list.scrollTop = Math.max(0, at * ROW - list.clientHeight / 3);
  };
  const reveal = (pane) => {
    const top = pane.getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 2) pane.scrollIntoView({ block: 'start' });
  };
  const open = async (fingerprint, focus) => {
    const pane = $('detail'), row = rows.find((r) => r.id === fingerprint) || rows.find((r) => r.fingerprint === fingerprint);
    current = row ? row.id : fingerprint;
    $('panes').classList.toggle('open', Boolean(fingerprint));
    asked();
    if (!fingerprint) { pane.replaceChildren(); draw(); return; }
    const close = make('button', 'Close', { type: 'button', id: 'close' });
    close.onclick = () => { location.hash = address(''); };
    if (!row) { pane.replaceChildren(close, make('p', 'This report has no finding ' + fingerprint + '. It may be fixed.')); return; }
    const more = await details(row.index);
    if (current !== row.id) return;
    const head = make('h2', row.rule + (row.cause ? '/' + row.cause : ''), { id: 'title', tabindex: '-1' });
    const facts = make('p');
    facts.append(level(row.severity), ' ' + row.confidence + ' \u00b7 ', make('b', row.label), ' \u00b7 project ' + row.project + ' \u00b7 ' + row.argocd);
    pane.replaceChildren(close, head, facts);
    if (row.kind) pane.append(make('p', subject(row) + (more.pointer ? ' ' + more.pointer : '')));
    if (more.excerpt.length) pane.append(make('pre', more.excerpt.join('\n')));
    if (row.since) pane.append(make('p', 'there since ' + row.since + (more.flaps ? ', came back ' + more.flaps + ' times' : ''), { class: 'dim' }));
    if (row.suppressed) pane.append(make('p', 'suppressed by ' + more.suppressed, { class: 'dim' }));
    pane.append(make('p', row.message));
    if (more.evidence.length) pane.append(make('h3', 'Evidence'), items(more.evidence));
    for (const fix of more.fixes) {
      const title = make('h3', 'Fix: ' + fix.title);
      if (fix.verified) title.append(' ', make('span', '\u2713 verified', { class: 'good' }));
      pane.append(title);
      if (fix.where) pane.append(make('p', fix.where, { class: 'dim' }));
      if (fix.effects) pane.append(make('p', 'Effects: ' + fix.effects));
      if (fix.caveat) pane.append(make('p', 'Caveat: ' + fix.caveat));
      if (fix.unverified) pane.append(make('p', 'Not verified: ' + fix.unverified, { class: 'dim' }));
      const first = fix.before.join('\n');
      if (first) pane.append(make('p', 'First:'), make('pre', first), copy(first));
      if (fix.text) pane.append(make('pre', fix.text), copy(fix.text));
    }
    if (more.related.length) pane.append(make('h3', 'Related'), items(more.related));
    const behind = row.causedBy ? rows.filter((r) => r.fingerprint === row.causedBy) : [];
    const root = behind.find((r) => r.argocd === row.argocd) || behind[0];
    const follow = rows.filter((r) => r.causedBy === row.fingerprint && r.argocd === row.argocd);
    if (root) pane.append(make('h3', 'Caused by'), items([toFinding(root)]));
    if (follow.length) pane.append(make('h3', 'Causes ' + follow.length + ' more'), items(follow.slice(0, 50).map(toFinding)));
    const links = make('p');
    links.append(link('About this rule', more.docs), ' \u00b7 ', link(row.kind ? 'In Argo CD' : 'Application in Argo CD', more.argocd));
    if (more.source) links.append(' \u00b7 ' + more.source);
    pane.append(links);
    show(row);
    draw();
    if (focus) { head.focus({ preventScroll: true }); reveal(pane); }
  };
  const go = (focus) => {
    const at = place();
    if (at.q !== $('query').value || at.sort !== $('sort').value || !shown.length) { $('query').value = at.q; $('sort').value = at.sort; filter(); }
    if (at.fingerprint !== current) open(at.fingerprint, focus);
  };
  const step = (by) => {
    const at = document.activeElement?.dataset?.at, list = $('list');
    const next = Math.min(Math.max((at === undefined ? (by > 0 ? -1 : shown.length) : Number(at)) + by, 0), shown.length - 1);
    if (next < 0) return;
    if (list.className === 'windowed' && (next * ROW < list.scrollTop || (next + 1) * ROW > list.scrollTop + list.clientHeight)) {
      list.scrollTop = Math.max(0, next * ROW - list.clientHeight / 2);
      draw();
    }
    list.querySelector('[data-at="' + next + '"]')?.focus();
  };
  const theme = () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
    try { localStorage.setItem('argolint-theme', document.documentElement.dataset.theme); } catch { /* not kept */ }
  };
  const save = (name, type, text) => {
    const anchor = make('a', '', { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  };
  const cell = (value) => { const text = String(value ?? ''); return '"' + (/^[=+\-@\t\r]/.test(text) ? "'" + text : text).replaceAll('"', '""') + '"'; };

  const start = async () => {
    rows = (await inflate('index')).map((values, index) => {
      const row = Object.fromEntries(FIELDS.map((field, i) => [field, values[i]]));
      row.index = index;
      row.label = (row.id === row.fingerprint ? '' : row.argocd + '/') + row.namespace + '/' + row.app;
      row.words = [row.rule, row.cause, row.project, row.label, row.kind, row.ns + '/' + row.name, row.message].join(' ').toLowerCase();
      return row;
    });
    document.documentElement.classList.add('js');
    try { const kept = localStorage.getItem('argolint-theme'); if (kept) document.documentElement.dataset.theme = kept; } catch { /* none */ }
    let waiting = 0;
    $('query').oninput = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => search($('query').value)); };
    const leave = (field) => { field.blur(); cancelAnimationFrame(waiting); search($('query').value); };  // the next key acts on what is found
    $('sort').onchange = () => search($('query').value);
    $('theme').onclick = theme;
    $('json').onclick = () => save('findings.json', 'application/json', JSON.stringify(shown.map((row) => Object.fromEntries(FIELDS.map((f) => [f, row[f]]))), null, 1));
    $('csv').onclick = () => save('findings.csv', 'text/csv', [FIELDS, ...shown.map((row) => FIELDS.map((f) => row[f]))].map((line) => line.map(cell).join(',')).join('\r\n'));
    let frame = 0;
    $('list').onscroll = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => draw(true)); };
    addEventListener('hashchange', () => go(true));
    addEventListener('beforeprint', () => { everything = true; draw(); });
    addEventListener('afterprint', () => { everything = false; draw(); });
    addEventListener('keydown', (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Escape') { if (typing) leave(event.target); else location.hash = address(''); return; }
      if (typing) return;
      const does = { '/': () => $('query').focus(), j: () => step(1), k: () => step(-1), t: theme, '?': () => { $('help').open = !$('help').open; } }[event.key];
      if (does) { event.preventDefault(); does(); }
    });
    filter();
    go(true);
    document.documentElement.dataset.ready = 'yes';
  };
  start().catch((error) => { document.documentElement.classList.remove('js'); $('trouble').textContent = 'The search needs a newer browser: ' + error; });
})();
