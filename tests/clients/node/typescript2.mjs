// The client of the TypeScript SDK, version 2, in the era that is asked for.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ERA, Ear, cancel, change, look, lookSimple, report, transport } from './visit.mjs';

const MODES = { legacy: 'legacy', auto: 'auto', pin: { pin: '2026-07-28' } };

async function connected(mode, visit) {
  const client = new Client({ name: 'typescript2', version: '1' }, { versionNegotiation: { mode: MODES[ERA] } });
  const ear = new Ear();
  client.setNotificationHandler('notifications/resources/updated', (note) => void ear.heard.push(note.params.uri));
  client.setNotificationHandler('notifications/resources/list_changed', () => void ear.heard.push('list_changed'));
  client.setNotificationHandler('notifications/progress', (note) => void ear.progress.push(note.params.progress));
  await client.connect(transport(mode, { Http: StreamableHTTPClientTransport, Stdio: StdioClientTransport }));
  try {
    return await visit(client, ear);
  } finally {
    await client.close();
  }
}

async function subscribed(client, visit) {
  if (ERA !== 'legacy') {
    const listening = await client.listen({ resourceSubscriptions: ['zim://towns'], resourcesListChanged: true });
    const heard = await visit();
    await listening.close();
    return heard;
  }
  await client.subscribeResource({ uri: 'zim://towns' });
  const heard = await visit();
  await client.unsubscribeResource({ uri: 'zim://towns' });
  return heard;
}

const simple = await connected('simple', lookSimple);
const advanced = await connected('advanced', async (client, ear) => {
  const call = (request, options) => client.callTool(request, options);
  const seen = await look(client, call, ear);
  const after_cancelling = await cancel(client, call);
  const heard = await subscribed(client, () => change(client, ear));
  return { revision: client.getNegotiatedProtocolVersion(), ...seen, after_cancelling, ...heard };
});
report({ ...simple, ...advanced });
