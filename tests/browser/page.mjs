// Drives the page of `serve --http` in a real browser. Started by .ci/browser with the binary, the browser and a directory for
// screenshots. Every wait is for something on the page; the time limits only end a run that would never end.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const [binary, browserPath, screenshots] = process.argv.slice(2);
const MARKUP = '<img src=x onerror="document.title=1"><script>alert(1)</script>';

/// A PDF of our own whose title is markup.
function pdf(title) {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>',
    `<< /Title (${title.replace(/[()\\]/g, '\\$&')}) >>`,
  ];
  let text = '%PDF-1.7\n';
  const offsets = objects.map((body, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj\n${body}\nendobj\n`;
    return offset;
  });
  const table = text.length;
  text += `xref\n0 5\n0000000000 65535 f \n${offsets.map((o) => `${String(o).padStart(10, '0')} 00000 n \n`).join('')}`;
  return Buffer.from(`${text}trailer\n<< /Size 5 /Root 1 0 R /Info 4 0 R >>\nstartxref\n${table}\n%%EOF\n`, 'latin1');
}

async function serve(env = {}) {
  const child = spawn(binary, ['serve', '--http', '127.0.0.1:0'], {
    env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface(child.stderr)) {
    const found = / address=(\S+)/.exec(line);
    if (found) {
      child.stderr.resume();
      return { url: `http://${found[1]}/`, stop: () => new Promise((done) => { child.on('exit', done); child.kill(); }) };
    }
  }
  throw new Error('the server did not start');
}

async function rpc(url, method, params) {
  const response = await fetch(`${url}mcp`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()).result;
}

const pool = async (url) => JSON.parse((await rpc(url, 'resources/read', { uri: 'deckprobe://pool' })).contents[0].text);
const inline = (name, data) => ({ name: 'probe', arguments: { name, data_base64: data.toString('base64') } });

const browser = await chromium.launch({
  executablePath: browserPath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
const complaints = [];
async function open(url, options = {}) {
  const page = await (await browser.newContext(options)).newPage();
  page.on('console', (message) => { if (message.type() === 'error') complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => { complaints.push('a dialog opened'); dialog.dismiss(); });
  await page.goto(url);
  return page;
}
const text = (page, selector) => page.locator(selector).innerText();
const check = async (what, run) => { await run(); console.log(`ok  ${what}`); };

const server = await serve();
const page = await open(server.url);

await check('the state and a tile for the warm worker are shown', async () => {
  await page.locator('#state[data-state=ready]').waitFor();
  await page.locator('#workers li[data-state=idle]').waitFor();
  assert.match(await text(page, '#about'), /builtin/);
});

await check('tiles and rate change while load runs', async () => {
  const document = pdf('load');
  let running = true;
  const load = Promise.all(Array.from({ length: 8 }, async () => {
    while (running) await rpc(server.url, 'tools/call', inline('load.pdf', document));
  }));
  await page.waitForFunction(() => document.querySelectorAll('#workers li').length > 1);
  await page.waitForFunction(() => [...document.querySelectorAll('#workers li')].some((tile) => !tile.textContent.includes('0 records')));
  await page.waitForFunction(() => parseFloat(document.getElementById('rate-now').textContent) > 0);
  await page.waitForFunction(() => document.getElementById('latency-now').textContent.includes('s ·'));
  running = false;
  await load;
});

await check('a killed worker disappears and is counted', async () => {
  const [worker] = (await pool(server.url)).workers;
  process.kill(worker.pid, 'SIGKILL');
  await page.waitForFunction((id) => !document.querySelector(`#workers li[data-id="${id}"]`), worker.id);
  await page.waitForFunction(() => document.getElementById('recycles').textContent.includes('signal'));
});

await check('a chosen document gives a card, and its title with markup stays text', async () => {
  await page.setInputFiles('#file', { name: 'markup.pdf', mimeType: 'application/pdf', buffer: pdf(MARKUP) });
  const card = page.locator('article[data-done]').first();
  await card.waitFor();
  assert.ok((await card.innerText()).includes(MARKUP), await card.innerText());
  assert.equal(await card.locator('img, script').count(), 0);
  assert.match(await card.innerText(), /pdf.page_count\s+1\s+exact/);
  await card.locator('summary', { hasText: 'Raw JSON' }).click();
  assert.ok((await card.locator('pre').innerText()).includes('"schema_version"'));
});

await check('a dropped document that is damaged gives its error', async () => {
  const transfer = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['not a document'], 'broken.docx'));
    return data;
  });
  await page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
  const card = page.locator('article[data-done]', { hasText: 'broken.docx' });
  await card.waitFor();
  assert.match(await card.innerText(), /[A-Z]+_[A-Z]+: /);
});

await check('sixty tiles update without a long frame', async () => {
  const longest = await page.evaluate(async () => {
    const workers = (state) => Array.from({ length: 60 }, (_, id) => ({ id: 1000 + id, state, served: id, age_ms: 1000, rss_bytes: 1 << 20, profile: 'default' }));
    let longest = 0;
    for (let round = 0; round < 20; round += 1) {
      const begun = performance.now();
      showWorkers(workers(round % 2 ? 'busy' : 'idle'));
      document.body.getBoundingClientRect();
      longest = Math.max(longest, performance.now() - begun);
      await new Promise(requestAnimationFrame);
    }
    return longest;
  });
  assert.equal(await page.evaluate(() => document.querySelectorAll('#workers li').length) >= 60, true);
  console.log(`    longest update ${longest.toFixed(1)} ms`);
});

await check('the page has no element without a name for assistive technology', async () => {
  const unnamed = await page.evaluate(() => [...document.querySelectorAll('input, button, [role=img]')]
    .filter((it) => !(it.labels && it.labels.length) && !it.getAttribute('aria-label') && !it.textContent.trim()).map((it) => it.outerHTML));
  assert.deepEqual(unnamed, []);
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
});

for (const [name, options] of [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['phone', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
]) {
  await check(`screenshot, ${name}`, async () => {
    const shown = await open(server.url, options);
    await shown.locator('#workers li').first().waitFor();
    await shown.setInputFiles('#file', { name: 'report.pdf', mimeType: 'application/pdf', buffer: pdf('Quarterly report') });
    await shown.locator('article[data-done]').waitFor();
    const wide = await shown.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, 'nothing is wider than the window');
    await shown.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
    await shown.context().close();
  });
}
assert.deepEqual(complaints, [], 'nothing was reported on the console');
await server.stop();

await check('the token is asked for, a wrong one is refused, the right one connects', async () => {
  const locked = await serve({ DECKPROBE_MCP_HTTP_TOKEN: 'correct-horse-battery' });
  const shown = await open(locked.url);
  await shown.locator('#token-form:not([hidden])').waitFor();
  await shown.fill('#token', 'wrong-horse-battery-staple');
  await shown.click('#token-form button');
  await shown.locator('#notice:not([hidden])').waitFor();
  await shown.fill('#token', 'correct-horse-battery');
  await shown.click('#token-form button');
  await shown.locator('#state[data-state=ready]').waitFor();
  await locked.stop();
});
await browser.close();
