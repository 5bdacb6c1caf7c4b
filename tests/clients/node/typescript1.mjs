// The client of the TypeScript SDK, version 1.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ProgressNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Ear, cancel, change, look, lookSimple, report, transport } from './visit.mjs';

async function connected(mode, visit) {
  const client = new Client({ name: 'typescript1', version: '1' });
  const way = transport(mode, { Http: StreamableHTTPClientTransport, Stdio: StdioClientTransport });
  const ear = new Ear();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (note) => void ear.heard.push(note.params.uri));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void ear.heard.push('list_changed'));
  client.setNotificationHandler(ProgressNotificationSchema, (note) => void ear.progress.push(note.params.progress));
  let revision;
  const tell = way.setProtocolVersion?.bind(way);
  way.setProtocolVersion = (version) => {
    revision = version;
    tell?.(version);
  };
  await client.connect(way);
  try {
    return await visit(client, ear, () => revision);
  } finally {
    await client.close();
  }
}

const simple = await connected('simple', lookSimple);
const advanced = await connected('advanced', async (client, ear, revision) => {
  const call = (request, options) => client.callTool(request, undefined, options);
  const seen = await look(client, call, ear);
  const after_cancelling = await cancel(client, call);
  await client.subscribeResource({ uri: 'zim://towns' });
  const heard = await change(client, ear);
  await client.unsubscribeResource({ uri: 'zim://towns' });
  return { revision: revision(), ...seen, after_cancelling, ...heard };
});
report({ ...simple, ...advanced });
