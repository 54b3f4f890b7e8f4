// The page of `serve --http`. Every text from the server or a document is set as text, never as markup.
'use strict';

const $ = (id) => document.getElementById(id);
const POINTS = 120;
// What is asked of a dropped document.
const TARGETS = ['@summary', '@security', '@structure', '@assets', '@quality'];

let token = sessionStorage.getItem('deckprobe-token') || '';

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function headers(more = {}) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

function notice(text) {
  $('notice').textContent = text || '';
  $('notice').hidden = !text;
}

function setState(state) {
  $('state').textContent = state;
  $('state').dataset.state = state;
}

// Numbers for people.

const count = (n) => n.toLocaleString('en');

function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60e3) return `${Math.floor(ms / 1000)} s`;
  if (ms < 3600e3) return `${Math.floor(ms / 60e3)} min`;
  return `${Math.floor(ms / 3600e3)} h ${Math.floor((ms % 3600e3) / 60e3)} min`;
}

function micros(us) {
  if (us === null || us === undefined) return '–';
  return us < 1000 ? `${us} µs` : us < 1e6 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1e6).toFixed(2)} s`;
}

function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let at = 0;
  while (n >= 1024 && at < 3) { n /= 1024; at += 1; }
  return `${at === 0 ? n : n.toFixed(1)} ${units[at]}`;
}

// The pool.

function pairs(list, rows) {
  while (list.children.length > rows.length) list.lastChild.remove();
  rows.forEach(([name, value], at) => {
    let row = list.children[at];
    if (!row) {
      row = element('div');
      row.append(element('dt'), element('dd'));
      list.append(row);
    }
    if (row.children[0].textContent !== name) row.children[0].textContent = name;
    if (row.children[1].textContent !== value) row.children[1].textContent = value;
  });
}

const tiles = new Map();

function showWorkers(workers) {
  const alive = new Set();
  for (const worker of workers) {
    alive.add(worker.id);
    let tile = tiles.get(worker.id);
    if (!tile) {
      tile = element('li');
      const title = element('b');
      title.append(element('span'), element('span'));
      tile.append(title, element('span'), element('span'), element('span'));
      tiles.set(worker.id, tile);
      $('workers').append(tile);
    }
    tile.dataset.state = worker.state;
    tile.dataset.id = worker.id;
    const [title, served, age, profile] = tile.children;
    const texts = [
      [title.children[0], `#${worker.id}`],
      [title.children[1], worker.state],
      [served, `${count(worker.served)} records`],
      [age, `${duration(worker.age_ms)} · ${worker.rss_bytes ? bytes(worker.rss_bytes) : 'memory unknown'}`],
      [profile, worker.profile],
    ];
    for (const [place, text] of texts) if (place.textContent !== text) place.textContent = text;
    profile.title = worker.profile;
  }
  for (const [id, tile] of tiles) {
    if (!alive.has(id)) { tile.remove(); tiles.delete(id); }
  }
  $('no-workers').hidden = workers.length > 0;
}

function bars(table, counts) {
  const rows = Object.entries(counts).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
  const most = rows.length ? rows[0][1] : 1;
  while (table.children.length > Math.max(rows.length, 1)) table.lastChild.remove();
  if (rows.length === 0) {
    table.replaceChildren(element('tr'));
    table.firstChild.append(element('td', 'none yet', { class: 'quiet' }));
    return;
  }
  rows.forEach(([name, n], at) => {
    let row = table.children[at];
    if (!row || row.children.length !== 3) {
      const fresh = element('tr');
      const bar = element('td');
      bar.append(element('i', '', { 'aria-hidden': 'true' }));
      fresh.append(element('th', '', { scope: 'row' }), bar, element('td'));
      if (row) row.replaceWith(fresh); else table.append(fresh);
      row = fresh;
    }
    row.children[0].textContent = name.replaceAll('_', ' ');
    row.children[1].firstChild.style.width = `${(100 * n) / most}%`;
    row.children[2].textContent = count(n);
  });
}

const history = { rate: [[]], latency: [[], [], []] };

function plot(id, values) {
  const series = history[id];
  series.forEach((points, at) => {
    points.push(values[at] ?? null);
    if (points.length > POINTS) points.shift();
  });
  const top = Math.max(1e-9, ...series.flat().filter((value) => value !== null)) * 1.1;
  series.forEach((points, at) => {
    let line = $(id).children[at];
    if (!line) {
      line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
      $(id).append(line);
    }
    const start = POINTS - points.length;
    line.setAttribute('points', points
      .map((value, x) => (value === null ? '' : `${(2 * (start + x)).toFixed(0)},${(62 - (60 * value) / top).toFixed(1)}`))
      .filter(Boolean).join(' '));
  });
}

function showFailures(failures, uptime) {
  $('failures').replaceChildren(...failures.map((failure) => {
    const row = element('li');
    const ago = `${duration(Math.max(0, uptime - failure.at_ms))} ago`;
    row.append(element('b', failure.document || 'a document'), element('span', `${failure.message} `), element('span', ago, { class: 'quiet' }));
    return row;
  }));
  $('no-failures').hidden = failures.length > 0;
}

let before = null;

function show(pool) {
  setState(pool.state);
  const sandbox = pool.sandbox;
  pairs($('about'), [
    ['Engine', pool.engine ? `${pool.engine.kind} ${pool.engine.tool_version}` : 'not known yet'],
    ['Sandbox', sandbox ? `Landlock ${sandbox.landlock}, seccomp ${sandbox.seccomp ? 'on' : 'off'}` : 'none yet'],
    ['Up', duration(pool.uptime_ms)],
  ]);
  showWorkers(pool.workers);
  pairs($('queue'), [
    ['Permits in use', `${pool.queue.permits_in_use} of ${pool.queue.permits}`],
    ['Calls waiting', count(pool.queue.waiting)],
    ['Batches', count(pool.queue.batches)],
    ['Places lost', count(pool.queue.lost)],
    ['Circuit breaker', pool.breaker.state],
    ['Wait for a permit, p99', micros(pool.queue_latency.p99_us)],
  ]);
  const records = Object.values(pool.outcomes).reduce((sum, n) => sum + n, 0);
  const seconds = before ? (pool.uptime_ms - before.uptime) / 1000 : 0;
  const rate = seconds > 0 ? Math.max(0, (records - before.records) / seconds) : 0;
  before = { records, uptime: pool.uptime_ms };
  plot('rate', [rate]);
  $('rate-now').textContent = `${rate.toFixed(1)} now, ${count(records)} since the start`;
  const recent = pool.recent_latency;
  plot('latency', [recent.p50_us, recent.p90_us, recent.p99_us]);
  $('latency-now').textContent = `p50 ${micros(recent.p50_us)} · p90 ${micros(recent.p90_us)} · p99 ${micros(recent.p99_us)}`;
  bars($('outcomes'), pool.outcomes);
  bars($('recycles'), pool.recycles);
  showFailures(pool.failures, pool.uptime_ms);
}

// The stream of server-sent events, read with fetch: EventSource cannot send a token.

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
      if (data.length) yield JSON.parse(data.join('\n'));
    }
  }
}

function askForToken() {
  setState('locked');
  $('token-form').hidden = false;
  $('token').focus();
}

async function follow() {
  let wait = 500;
  for (;;) {
    try {
      const response = await fetch('events', { headers: headers(), cache: 'no-store' });
      if (response.status === 401) {
        if (token) notice('The server does not accept this token.');
        return askForToken();
      }
      if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
      $('token-form').hidden = true;
      notice('');
      for await (const pool of events(response)) {
        wait = 500;
        show(pool);
      }
    } catch (error) {
      notice(`The server does not answer: ${error.message}`);
    }
    setState('offline');
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, 10000);
  }
}

$('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  token = $('token').value.trim();
  sessionStorage.setItem('deckprobe-token', token);
  $('token').value = '';
  follow();
});

// A dropped document.

function base64(buffer) {
  const chunks = [];
  const view = new Uint8Array(buffer);
  for (let at = 0; at < view.length; at += 0x8000) chunks.push(String.fromCharCode(...view.subarray(at, at + 0x8000)));
  return btoa(chunks.join(''));
}

async function call(name, args) {
  const response = await fetch('mcp', {
    method: 'POST',
    headers: headers({ 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  if (response.status === 413) throw new Error('the document is larger than the server accepts (DECKPROBE_MCP_MAX_INLINE_BYTES)');
  if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

function valueText(value) {
  if (value === null) return 'not recorded';
  if (Array.isArray(value)) return value.map(valueText).join(', ') || 'none';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function factTable(results) {
  const table = element('table', undefined, { class: 'facts' });
  for (const [target, result] of results) {
    const row = element('tr');
    row.append(element('th', target, { scope: 'row' }), element('td', valueText(result.value)), element('td', result.confidence || ''));
    table.append(row);
  }
  return table;
}

function reportCard(report) {
  const parts = [];
  const driver = report.driver || {};
  parts.push(element('p', `${driver.profile || driver.id || 'document'} · ${report.status}`, { class: 'quiet' }));
  const results = Object.entries(report.results || {});
  const known = results.filter(([, result]) => result.status === 'resolved' || result.status === 'estimated');
  parts.push(factTable(known));
  const open = results.filter(([, result]) => result.status !== 'resolved' && result.status !== 'estimated');
  if (open.length) {
    const more = element('details');
    more.append(element('summary', `${open.length} facts without a value`));
    more.append(factTable(open.map(([target, result]) => [target, { value: result.status.replaceAll('_', ' ') }])));
    parts.push(more);
  }
  const cost = report.execution && report.execution.actual_cost;
  if (cost) {
    parts.push(element('h4', 'Cost'), element('p',
      `${bytes(cost.physical_bytes_read)} read in ${count(cost.random_reads)} reads, ${bytes(cost.expanded_bytes)} expanded`, { class: 'quiet' }));
  }
  if (report.diagnostics && report.diagnostics.length) {
    const list = element('ul');
    for (const item of report.diagnostics) list.append(element('li', `${item.code}: ${item.message}`));
    parts.push(element('h4', 'Diagnostics'), list);
  }
  return parts;
}

async function probe(file) {
  const card = element('article');
  const status = element('p', 'Probing…', { class: 'quiet' });
  card.append(element('h3', file.name), status);
  $('cards').prepend(card);
  try {
    const data = base64(await file.arrayBuffer());
    const result = await call('probe', { name: file.name, data_base64: data, targets: TARGETS, level: 'deep' });
    const report = result.structuredContent;
    if (result.isError) {
      status.textContent = report && report.error ? `${report.error.code}: ${report.error.message}` : 'The document cannot be probed.';
    } else {
      status.remove();
      card.append(...reportCard(report));
    }
    const raw = element('details');
    raw.append(element('summary', 'Raw JSON'), element('pre', JSON.stringify(report, null, 2)));
    card.append(raw);
  } catch (error) {
    status.textContent = `It was not probed: ${error.message}`;
  }
  card.dataset.done = 'true';
}

async function probeAll(files) {
  for (const file of files) await probe(file);
}

$('file').addEventListener('change', () => {
  probeAll([...$('file').files]).finally(() => { $('file').value = ''; });
});
for (const [name, over] of [['dragover', true], ['dragleave', false], ['drop', false]]) {
  $('drop').addEventListener(name, (event) => {
    event.preventDefault();
    $('drop').classList.toggle('over', over);
    if (name === 'drop') probeAll([...event.dataTransfer.files]);
  });
}

follow();
