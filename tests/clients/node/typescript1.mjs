// The client of the TypeScript SDK, version 1.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ProgressNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  Notifications,
  TIMEOUT_MS,
  changeArchives,
  createTransport,
  readEverything,
  report,
  searchAfterCancelling,
  useSimpleMode,
} from './exercise.mjs';

async function connect(mode, use) {
  const client = new Client({ name: 'typescript1', version: '1' });
  const transport = createTransport(mode, { Http: StreamableHTTPClientTransport, Stdio: StdioClientTransport });
  const notifications = new Notifications();
  const { received, progress } = notifications;
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void received.push(params.uri));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void received.push('list_changed'));
  client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => void progress.push(params.progress));
  let protocolVersion;
  const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocolVersion = version;
    setProtocolVersion?.(version);
  };
  await client.connect(transport, { timeout: TIMEOUT_MS });
  try {
    return await use(client, notifications, () => protocolVersion);
  } finally {
    await client.close();
  }
}

const simple = await connect('simple', useSimpleMode);
const advanced = await connect('advanced', async (client, notifications, protocolVersion) => {
  const call = (request, options) => client.callTool(request, undefined, options);
  const results = await readEverything(client, call, notifications);
  const hit_after_cancelling = await searchAfterCancelling(client, call, notifications);
  await client.subscribeResource({ uri: 'zim://towns' });
  const changes = await changeArchives(client, notifications);
  await client.unsubscribeResource({ uri: 'zim://towns' });
  return { version: protocolVersion(), ...results, hit_after_cancelling, ...changes };
});
report({ ...simple, ...advanced });
