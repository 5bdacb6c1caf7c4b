// What the TypeScript clients share: where the server is, what lies on its shelf, and what they ask of it.
import { renameSync } from 'node:fs';

export const VISIT = JSON.parse(process.argv[2]);
export const ERA = process.argv[3];
export const ISLES = 'isles_en_all_2026-01';
export const ARTICLE = `zim://${ISLES}/entry/Ravenport`;
export const PICTURE = 'zim://towns/entry/maps%2Fravenport.png';
export const SEARCH = { name: 'zim_search', arguments: { query: 'Ravenport', zim_file_path: ISLES } };
export const QUESTION = { name: 'zim_query', arguments: { query: 'When was Ravenport founded?' } };
export const MISTAKE = { name: 'zim_browse', arguments: { namespce: 'C' } };
export const SEVERAL = {
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
export function transport(mode, { Http, Stdio }) {
  const place = VISIT.servers[mode];
  return place.url ? new Http(new URL(place.url), { requestInit: { headers: place.headers } }) : new Stdio(place);
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
export const best = (result) => JSON.parse(result.content[0].text).results[0].path;

/** Move an archive that was kept aside onto the shelf. */
export const put = (name) => renameSync(`${VISIT.spare}/${name}.zim`, `${VISIT.shelf}/${name}.zim`);

/** The notifications of a connection. */
export class Ear {
  heard = [];
  // Noted here and not by `onprogress`, which the SDK forgets as soon as the answer is read, even while it holds a step
  // that came with it.
  progress = [];

  async told(wanted) {
    for (let tries = 0; tries < 200; tries++) {
      if (this.heard.includes(wanted)) return wanted;
      await sleep(100);
    }
    throw new Error(`not told of ${wanted}, but of ${this.heard}`);
  }
}

/** What both generations of the SDK are asked in the same words. */
export async function look(client, withProgress, ear) {
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const found = await client.callTool(SEARCH);
  const mistake = await client.callTool(MISTAKE);
  await withProgress(SEVERAL, { onprogress: () => {} });
  const resources = (await client.listResources()).resources.map((row) => row.uri);
  const templates = (await client.listResourceTemplates()).resourceTemplates.map((row) => row.uriTemplate);
  const article = (await client.readResource({ uri: ARTICLE })).contents[0];
  const picture = (await client.readResource({ uri: PICTURE })).contents[0];
  const refusal = await client.readResource({ uri: 'zim://nope' }).then(() => 0, (error) => error.code);
  const prompts = (await client.listPrompts()).prompts.map((row) => row.name);
  const prompt = await client.getPrompt({ name: 'explore', arguments: { zim_file_path: 'towns' } });
  return {
    tools,
    found: [found.structuredContent.results[0].path, best(found)],
    mistake: [mistake.isError, JSON.parse(mistake.content[0].text).operation],
    progress: ear.progress,
    resources,
    templates,
    article: [article.mimeType, article.text.includes('harbour town')],
    picture: [picture.mimeType, Buffer.from(picture.blob, 'base64').toString()],
    refusal,
    prompts,
    prompt: prompt.messages[0].content.text.includes('towns'),
    names: (await client.complete(ARCHIVE_NAMES)).completion.values,
    paths: (await client.complete(ENTRY_PATHS)).completion.values,
  };
}

/** What a user of simple mode sees. */
export async function lookSimple(client) {
  const answer = await client.callTool(QUESTION);
  return {
    simple_tools: (await client.listTools()).tools.map((tool) => tool.name),
    answered: answer.content[0].text.includes('1743'),
  };
}

/** Ask for something long, take it back, and return what the next call says. */
export async function cancel(client, withSignal) {
  const abort = new AbortController();
  const long = withSignal(VERIFY, { signal: abort.signal }).then(() => 'answered', () => 'cancelled');
  await sleep(500);
  abort.abort('not needed');
  if ((await long) !== 'cancelled') throw new Error('the call was answered');
  return best(await client.callTool(SEARCH));
}

/** Change the shelf and return what was heard of it, and what is read then. */
export async function change(client, ear) {
  await sleep(500);
  put('towns');
  const updated = await ear.told('zim://towns');
  const overview = (await client.readResource({ uri: 'zim://towns' })).contents[0].text;
  put('later');
  return { updated: [updated, JSON.parse(overview).metadata.Title], list_changed: await ear.told('list_changed') };
}

export const report = (seen) => console.log(JSON.stringify(seen));
