// What the TypeScript clients share: the servers, the requests and the report.
import { renameSync } from 'node:fs';

export const CONFIG = JSON.parse(process.argv[2]);
export const MODE = process.argv[3];
// Ends a client that hangs; a busy machine does not reach it.
export const TIMEOUT_MS = 300_000;
export const ISLES = 'isles_en_all_2026-01';
export const ARTICLE_URI = `zim://${ISLES}/entry/Ravenport`;
export const IMAGE_URI = 'zim://towns/entry/maps%2Fravenport.png';
export const SEARCH = { name: 'zim_search', arguments: { query: 'Ravenport', zim_file_path: ISLES } };
export const QUESTION = { name: 'zim_query', arguments: { query: 'When was Ravenport founded?' } };
export const INVALID_CALL = { name: 'zim_browse', arguments: { namespce: 'C' } };
export const THREE_ENTRIES = {
  name: 'zim_get',
  arguments: { zim_file_path: ISLES, entry_paths: ['Ravenport', 'Alderwick', 'Herring'] },
};
export const VERIFY = { name: 'zim_health', arguments: { zim_file_path: 'slow' } };
export const ARCHIVE_NAMES = {
  ref: { type: 'ref/prompt', name: 'explore' },
  argument: { name: 'zim_file_path', value: 'to' },
};
export const ENTRY_PATHS = {
  ref: { type: 'ref/resource', uri: 'zim://{name}/entry/{path}' },
  argument: { name: 'path', value: 'Raven' },
  context: { arguments: { name: ISLES } },
};

/** Return the transport to a server: by its URL, or by the command that starts it. */
export function createTransport(mode, { Http, Stdio }) {
  const server = CONFIG.servers[mode];
  return server.url ? new Http(new URL(server.url), { requestInit: { headers: server.headers } }) : new Stdio(server);
}

export const firstPath = (result) => JSON.parse(result.content[0].text).results[0].path;

/** Move a staged archive to the served directory. */
export const putArchive = (name) => renameSync(`${CONFIG.staged}/${name}.zim`, `${CONFIG.directory}/${name}.zim`);

/** The notifications of a connection. */
export class Notifications {
  received = [];
  // Recorded here and not by `onprogress`: the SDK removes that callback when it has read the result, even if a
  // progress notification that came before the result was not handled yet.
  progress = [];

  async waitFor(expected) {
    await this.waitUntil(() => this.received.includes(expected), expected);
    return expected;
  }

  async waitUntil(condition, description) {
    for (const end = Date.now() + TIMEOUT_MS; !condition(); ) {
      if (Date.now() > end) throw new Error(`no notification ${description}, only ${this.received}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** The requests that both versions of the SDK make in the same way. */
export async function readEverything(client, callWithProgress, notifications) {
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const hits = await client.callTool(SEARCH);
  const error = await client.callTool(INVALID_CALL);
  await callWithProgress(THREE_ENTRIES, { onprogress: () => {} });
  const resources = (await client.listResources()).resources.map((resource) => resource.uri);
  const templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
  const article = (await client.readResource({ uri: ARTICLE_URI })).contents[0];
  const image = (await client.readResource({ uri: IMAGE_URI })).contents[0];
  const not_found_code = await client.readResource({ uri: 'zim://nope' }).then(() => 0, (error) => error.code);
  const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  const prompt = await client.getPrompt({ name: 'explore', arguments: { zim_file_path: 'towns' } });
  return {
    tools,
    first_hit: [hits.structuredContent.results[0].path, firstPath(hits)],
    argument_error: [error.isError, JSON.parse(error.content[0].text).operation],
    progress: [...notifications.progress],
    resources,
    templates,
    article: [article.mimeType, article.text.includes('harbour town')],
    image: [image.mimeType, Buffer.from(image.blob, 'base64').toString()],
    not_found_code,
    prompts,
    prompt: prompt.messages[0].content.text.includes('towns'),
    archive_names: (await client.complete(ARCHIVE_NAMES)).completion.values,
    entry_paths: (await client.complete(ENTRY_PATHS)).completion.values,
  };
}

/** The requests of a client in simple mode. */
export async function useSimpleMode(client) {
  const answer = await client.callTool(QUESTION);
  return {
    simple_tools: (await client.listTools()).tools.map((tool) => tool.name),
    has_answer: answer.content[0].text.includes('1743'),
  };
}

/** Start a long call, cancel it, and return the first hit of the next call. */
export async function searchAfterCancelling(client, callWithProgress, notifications) {
  const abort = new AbortController();
  const before = notifications.progress.length;
  const call = callWithProgress(VERIFY, { signal: abort.signal, onprogress: () => {}, timeout: TIMEOUT_MS });
  const outcome = call.then(() => 'answered', () => 'cancelled');
  await notifications.waitUntil(() => notifications.progress.length > before, 'of progress');
  abort.abort('not needed');
  if ((await outcome) !== 'cancelled') throw new Error('the call was answered');
  return firstPath(await client.callTool(SEARCH));
}

/** Change the archives, and return the notifications and what is read after them. */
export async function changeArchives(client, notifications) {
  putArchive('towns');
  const updated = await notifications.waitFor('zim://towns');
  const overview = (await client.readResource({ uri: 'zim://towns' })).contents[0].text;
  putArchive('later');
  const list_changed = await notifications.waitFor('list_changed');
  return { updated: [updated, JSON.parse(overview).metadata.Title], list_changed };
}

export const report = (values) => console.log(JSON.stringify(values));
