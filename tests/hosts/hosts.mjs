// The TypeScript SDK against the real binary: lists the tools and calls one.
//
//     hosts.mjs BINARY FIXTURES
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, fixtures] = process.argv.slice(2);
const client = new Client({ name: 'hosts', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command, args: ['serve'] }));

const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
for (const name of ['probe', 'probe_batch', 'list_formats', 'list_targets']) {
  assert(names.includes(name), `${name} is missing in ${names}`);
}
const answer = await client.callTool({
  name: 'probe',
  arguments: { path: `${fixtures}/quarterly.docx`, targets: ['title'], view: 'values' },
});
// The client has validated structuredContent against the tool's output schema.
assert.equal(answer.structuredContent.values['document.title'], 'Quarterly figures');
await client.close();
console.log('ok   typescript-sdk');
