// The client of the TypeScript SDK, version 2, in the mode given as argument.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  MODE,
  Notifications,
  TIMEOUT_MS,
  changeArchives,
  createTransport,
  readEverything,
  report,
  searchAfterCancelling,
  useSimpleMode,
} from './exercise.mjs';

const NEGOTIATION = { legacy: 'legacy', auto: 'auto', pin: { pin: '2026-07-28' } };

async function connect(mode, use) {
  const client = new Client({ name: 'typescript2', version: '1' }, { versionNegotiation: { mode: NEGOTIATION[MODE] } });
  const notifications = new Notifications();
  const { received, progress } = notifications;
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void received.push(params.uri));
  client.setNotificationHandler('notifications/resources/list_changed', () => void received.push('list_changed'));
  client.setNotificationHandler('notifications/progress', ({ params }) => void progress.push(params.progress));
  const transport = createTransport(mode, { Http: StreamableHTTPClientTransport, Stdio: StdioClientTransport });
  await client.connect(transport, { timeout: TIMEOUT_MS });
  try {
    return await use(client, notifications);
  } finally {
    await client.close();
  }
}

async function subscribe(client, use) {
  if (MODE !== 'legacy') {
    const subscription = await client.listen({ resourceSubscriptions: ['zim://towns'], resourcesListChanged: true });
    const changes = await use();
    await subscription.close();
    return changes;
  }
  await client.subscribeResource({ uri: 'zim://towns' });
  const changes = await use();
  await client.unsubscribeResource({ uri: 'zim://towns' });
  return changes;
}

/** The files of all skills, each with whether its size and digest match the list; null where the version has none. */
async function readSkills(client) {
  const skills = new SkillsClient(client);
  if (!skills.supported) return null;
  const files = [];
  for (const skill of (await skills.list()).skills) {
    for (const { uri } of skill.resources) {
      const file = await skills.read(skill, uri);
      files.push([file.uri, file.verified]);
    }
  }
  return files;
}

const simple = await connect('simple', useSimpleMode);
const advanced = await connect('advanced', async (client, notifications) => {
  const call = (request, options) => client.callTool(request, options);
  const results = await readEverything(client, call, notifications);
  const skills = await readSkills(client);
  const hit_after_cancelling = await searchAfterCancelling(client, call, notifications);
  const changes = await subscribe(client, () => changeArchives(client, notifications));
  return { version: client.getNegotiatedProtocolVersion(), ...results, skills, hit_after_cancelling, ...changes };
});
report({ ...simple, ...advanced });
