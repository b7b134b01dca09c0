/** Finds the configuration files of a source and reads their text, within bounds; tells whether they have changed since. */

import { constants, type Stats } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { ConfigProblem } from './config-error';
import type { ConfigFile } from './yaml-text';

export type ConfigSource =
  /** `--config`: one file, or the YAML files directly in a directory. */
  | { readonly kind: 'path'; readonly path: string }
  /** `RUNTIME_*`: the YAML files anywhere below a directory, as the reference has it. */
  | {
      readonly kind: 'runtime';
      readonly directory: string;
      /** `RUNTIME_ROOT` with `RUNTIME_WATCH_ROOT`: if it is a symlink, what is below changes when it is swapped, and only then. */
      readonly swappedRoot?: string;
      /** What to do if it is not there, where it is not the environment that names it. */
      readonly advice?: string;
    };

export const CONFIG_FILE_BYTES_MAX = 16 * 1024 * 1024;

const CONFIG_FILES_MAX = 4096;

/** Of all files together. */
export const CONFIG_BYTES_MAX = 4 * CONFIG_FILE_BYTES_MAX;

/** What is read of a file at once. */
const CHUNK_BYTES = 1024 * 1024;

/** Of whatever kind: to look at more takes seconds each time. */
const ENTRIES_MAX = 65_536;

/** Directories within directories: more than anybody nests. */
const DIRECTORY_DEPTH_MAX = 16;

export interface ReadFiles {
  /** In load order. */
  readonly files: readonly ConfigFile[];
  readonly problems: readonly ConfigProblem[];
}

/** Never rejects: what can't be read is a problem. Asks the file system for one thing at a time: it may be slow. */
export async function readConfigFiles(source: ConfigSource): Promise<ReadFiles> {
  const problems: ConfigProblem[] = [];
  const names = (await attempt(() => listFiles(source), { name: placeOf(source), advice: adviceFor(source), problems })) ?? [];
  const files: ConfigFile[] = [];
  let bytes = 0;
  for (const name of names) {
    const text = await attempt(() => readText(name, { isNamed: name === placeOf(source) }), { name, advice: FILE_ADVICE, problems });
    if (text === undefined) continue;
    bytes += Buffer.byteLength(text);
    if (bytes > CONFIG_BYTES_MAX) {
      problems.push(problemOf(name, `is where the files are longer than ${CONFIG_BYTES_MAX} bytes together, and no more are read; use shorter ones`));
      break;
    }
    files.push({ name, text });
  }
  return { files, problems };
}

/** A directory that was walked, or one that holds what leads there. */
export interface WatchedPlace {
  readonly directory: string;
  /** Another one if the name leads elsewhere now. */
  readonly identity: string;
  /** The one name in it that matters; absent: all do. */
  readonly entry?: string;
}

/** What a source looks like from outside. */
export interface SourceState {
  /** Another one whenever a file or what leads to it may have changed, though nothing was read. */
  readonly fingerprint: string;
  /** Where a change would be seen. */
  readonly places: readonly WatchedPlace[];
  /** When the newest of the files was changed, in milliseconds since 1970. */
  readonly changedMs: number;
  /** It is a pipe or a device: what was read of it is gone, and to read it again might be to wait for good. */
  readonly isReadOnce: boolean;
}

/** Never rejects: what can't be looked at looks like that. */
export async function lookAt(source: ConfigSource): Promise<SourceState> {
  const swapped = source.kind === 'runtime' ? source.swappedRoot : undefined;
  const root = swapped === undefined ? [] : [await placeAt(path.dirname(swapped), path.basename(swapped))];
  const rootState = swapped === undefined ? undefined : await stateOfSymlink(swapped);
  if (rootState !== undefined) return { fingerprint: rootState, places: root, changedMs: 0, isReadOnce: false };
  const walked: WatchedPlace[] = [];
  const seen: string[] = [];
  const names = await listFiles(source, async (directory) => {
    walked.push(await placeAt(directory));
  }).catch((error: unknown) => {
    seen.push(String(error));
    return [];
  });
  let changedMs = 0;
  for (const name of names) {
    const state = await stateOf(name);
    seen.push(`${name} ${state.text}`);
    changedMs = Math.max(changedMs, state.changedMs);
  }
  // A file by itself may be a symlink to what is swapped beside it.
  const place = placeOf(source);
  const parent = await placeAt(path.dirname(place), walked.length > 0 ? path.basename(place) : undefined);
  return { fingerprint: seen.join('\n'), places: [...root, parent, ...walked], changedMs, isReadOnce: await isReadOnce(place) };
}

async function isReadOnce(name: string): Promise<boolean> {
  const stats = await fs.stat(name).catch(() => undefined);
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}

async function placeAt(directory: string, entry?: string): Promise<WatchedPlace> {
  const { text: identity } = await stateOf(directory, { isContent: false });
  return { directory, identity, ...(entry !== undefined && { entry }) };
}

/** Undefined: there is no symlink of that name. */
async function stateOfSymlink(name: string): Promise<string | undefined> {
  const link = await fs.lstat(name, { bigint: true }).catch(() => undefined);
  return link?.isSymbolicLink() === true ? `${link.ino} ${link.ctimeNs} ${(await stateOf(name, { isContent: false })).text}` : undefined;
}

/** `isContent`: of what is in it too, not only of which one it is. */
async function stateOf(name: string, { isContent = true } = {}): Promise<{ readonly text: string; readonly changedMs: number }> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await fs.stat(name, { bigint: true });
    return { text: [dev, ino, ...(isContent ? [size, mtimeNs, ctimeNs] : [])].join(' '), changedMs: Number(ctimeMs) };
  } catch (error) {
    return { text: String(error), changedMs: 0 };
  }
}

const FILE_ADVICE = 'make it readable or remove it';

/** A reason for refusing that is Weir's own, and says what to do already. */
class Refusal extends Error {}

async function attempt<T>(
  read: () => Promise<T>,
  { name, advice, problems }: { name: string; advice: string; problems: ConfigProblem[] },
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    // Of a directory it may be one below that can't be read.
    const { path: failed = name } = error as NodeJS.ErrnoException;
    problems.push(problemOf(failed, explain(error, failed === name ? advice : FILE_ADVICE)));
    return undefined;
  }
}

function problemOf(file: string, message: string): ConfigProblem {
  return { file, line: 0, column: 0, path: '', message };
}

function explain(error: unknown, advice: string): string {
  if (error instanceof Refusal) return error.message;
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  return code === 'ENOENT' ? `does not exist; ${advice}` : `can't be read (${code}); ${advice}`;
}

function placeOf(source: ConfigSource): string {
  return source.kind === 'path' ? source.path : source.directory;
}

function adviceFor(source: ConfigSource): string {
  if (source.kind === 'path') return 'give --config a YAML file or a directory of them';
  return source.advice ?? 'set RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY so that they name it, or use --config';
}

/** The paths, sorted, as they are read and as problems show them. `onDirectory` is told of each that is walked. */
async function listFiles(source: ConfigSource, onDirectory: (directory: string) => Promise<void> = () => Promise.resolve()): Promise<string[]> {
  const place = placeOf(source);
  // Follows symlinks everywhere: a ConfigMap's files, and RUNTIME_ROOT itself, are symlinks.
  const stats = await fs.stat(place);
  if (source.kind === 'path' && !stats.isDirectory()) return [place];
  const depthMax = source.kind === 'path' ? 0 : DIRECTORY_DEPTH_MAX;
  const names = await walk(place, { depthMax, onDirectory, seen: { count: 0 }, above: [identityOf(stats)], prefix: '' });
  const yaml = names.filter(isYaml).sort();
  if (yaml.length > CONFIG_FILES_MAX) throw new Refusal(`holds over ${CONFIG_FILES_MAX} YAML files; use fewer`);
  if (yaml.length === 0) refuseIfMistaken(source, names);
  return yaml.map((name) => path.join(place, name));
}

/** An empty runtime directory is a valid, empty configuration in the reference; files that it would have read are not. */
function refuseIfMistaken(source: ConfigSource, [someName]: readonly string[]): void {
  if (someName !== undefined) {
    throw new Refusal(`holds no .yaml or .yml file, but ${someName}; rename what is configuration to end in .yaml`);
  }
  if (source.kind === 'path') throw new Refusal('holds no .yaml or .yml file; put one there, or name a file');
}

/** Relative paths of all files down to that depth, leaving out what begins with a dot: ConfigMaps keep copies there. */
async function walk(directory: string, { depthMax, onDirectory, seen, above, prefix }: WalkOptions): Promise<string[]> {
  await onDirectory(directory);
  const found: string[] = [];
  for (const entry of await fs.readdir(directory)) {
    if (entry.startsWith('.')) continue;
    seen.count += 1;
    if (seen.count > ENTRIES_MAX) throw new Refusal(`holds over ${ENTRIES_MAX} files and directories, counting what symlinks lead to each time; remove what is no configuration`);
    const full = path.join(directory, entry);
    const name = path.join(prefix, entry);
    const identity = await directoryAt(full);
    if (identity === undefined) found.push(name);
    // A symlink that leads back up holds nothing that is not there already.
    else if (depthMax > 0 && !above.includes(identity)) found.push(...(await walk(full, { depthMax: depthMax - 1, onDirectory, seen, above: [...above, identity], prefix: name })));
  }
  return found;
}

interface WalkOptions {
  readonly depthMax: number;
  readonly onDirectory: (directory: string) => Promise<void>;
  /** Of all directories. */
  readonly seen: { count: number };
  /** The directories that it is in, and itself. */
  readonly above: readonly string[];
  readonly prefix: string;
}

/** Which directory it is; undefined if it is a file. So is a symlink that leads nowhere: reading it then says what is wrong with it. */
async function directoryAt(full: string): Promise<string | undefined> {
  const stats = await fs.stat(full).catch(() => undefined);
  return stats?.isDirectory() === true ? identityOf(stats) : undefined;
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev} ${ino}`;
}

function isYaml(name: string): boolean {
  return name.endsWith('.yaml') || name.endsWith('.yml');
}

/** `isNamed`: somebody asked for it, and may hand over a pipe. Nobody may ever write into one that lies in a directory. */
async function readText(name: string, { isNamed }: { readonly isNamed: boolean }): Promise<string> {
  const handle = await fs.open(name, isNamed ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!isNamed && !(await handle.stat()).isFile()) throw new Refusal('is no regular file; remove it');
    return toText(await readUpTo(handle, CONFIG_FILE_BYTES_MAX));
  } finally {
    await handle.close();
  }
}

/** Not by what its size is said to be: it may grow meanwhile, and pipes and devices have none. */
async function readUpTo(handle: FileHandle, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The last byte is the one too many.
  for await (const chunk of handle.createReadStream({ end: bytesMax, autoClose: false, highWaterMark: CHUNK_BYTES })) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  if (bytes > bytesMax) throw new Refusal(`is longer than ${bytesMax} bytes, and no more are read; split its domains over files`);
  return Buffer.concat(chunks);
}

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal('is not UTF-8 text; save it as UTF-8');
  }
}
