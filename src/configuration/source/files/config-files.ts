/** Finds the configuration files of a source, reads their text within bounds, and detects changes. */

import { constants, type Stats } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { TextDecoder } from 'node:util';
import type { ConfigProblem } from '../../problems/config-error';
import type { ConfigFile } from '../../yaml/yaml-text';

export type ConfigSource =
  /** `--config`: one file, or the YAML files directly in a directory. */
  | { readonly kind: 'path'; readonly path: string }
  /** `RUNTIME_*`: the YAML files anywhere below a directory, as the reference has it. */
  | {
      readonly kind: 'runtime';
      readonly directory: string;
      /** `RUNTIME_ROOT` with `RUNTIME_WATCH_ROOT`: if it is a symlink, only its swap counts as a change. */
      readonly swappedRoot?: string;
      /** Advice if the directory does not exist, unless it comes from the environment. */
      readonly advice?: string;
    };

export const CONFIG_FILE_BYTES_MAX = 16 * 1024 * 1024;

const CONFIG_FILES_MAX = 4096;

/** Limit for all files together. */
export const CONFIG_BYTES_MAX = 4 * CONFIG_FILE_BYTES_MAX;

/** Bytes of one read. */
const CHUNK_BYTES = 1024 * 1024;

/** Limit for files and directories of any kind: each look at more takes seconds. */
const ENTRIES_MAX = 65_536;

/** Levels of directories, more than any configuration uses. */
const DIRECTORY_DEPTH_MAX = 16;

export interface ReadFiles {
  /** In load order. */
  readonly files: readonly ConfigFile[];
  readonly problems: readonly ConfigProblem[];
}

/** Never rejects: unreadable files are problems. Accesses the file system sequentially, because it may be slow. */
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
      problems.push(
        problemOf(name, `takes the files over ${CONFIG_BYTES_MAX} bytes in total, so it and later files are not read; use shorter ones`),
      );
      break;
    }
    files.push({ name, text });
  }
  return { files, problems };
}

/** A directory that was walked, or one that contains a symlink to it. */
export interface WatchedPlace {
  readonly directory: string;
  /** Changes if the name leads to another directory. */
  readonly identity: string;
  /** The only relevant name in it; absent: all are. */
  readonly entry?: string;
}

/** Metadata of a source, without its contents. */
export interface SourceState {
  /** Changes whenever a file, or a symlink to it, may have changed. */
  readonly fingerprint: string;
  /** Directories to watch for changes. */
  readonly places: readonly WatchedPlace[];
  /** When the newest file was changed, in milliseconds since 1970. */
  readonly changedMs: number;
  /** Whether the source is a pipe or a device: its content is consumed, and another read could block forever. */
  readonly isReadOnce: boolean;
}

/** Never rejects: errors become part of the fingerprint. */
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
  // A single file may be a symlink to a target that is swapped beside it.
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

/** Undefined without a symlink of that name. */
async function stateOfSymlink(name: string): Promise<string | undefined> {
  const link = await fs.lstat(name, { bigint: true }).catch(() => undefined);
  return link?.isSymbolicLink() === true ? `${link.ino} ${link.ctimeNs} ${(await stateOf(name, { isContent: false })).text}` : undefined;
}

/** `isContent`: includes size and times, not only the identity. */
async function stateOf(name: string, { isContent = true } = {}): Promise<{ readonly text: string; readonly changedMs: number }> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await fs.stat(name, { bigint: true });
    return { text: [dev, ino, ...(isContent ? [size, mtimeNs, ctimeNs] : [])].join(' '), changedMs: Number(ctimeMs) };
  } catch (error) {
    return { text: String(error), changedMs: 0 };
  }
}

const FILE_ADVICE = 'make it readable or remove it';

/** A rejection with a message that already says what to do. */
class Refusal extends Error {}

async function attempt<T>(
  read: () => Promise<T>,
  { name, advice, problems }: { name: string; advice: string; problems: ConfigProblem[] },
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    // For a directory, the unreadable path may be one below it.
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
  if (source.kind === 'path') return 'name a YAML file or a directory of YAML files';
  return source.advice ?? 'set RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY so that they name it, or use --config';
}

/** The sorted paths, as they are read and as problems show them. Calls `onDirectory` for each directory walked. */
async function listFiles(
  source: ConfigSource,
  onDirectory: (directory: string) => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
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

/** An empty runtime directory is a valid, empty configuration in the reference. A directory with files of other names is probably a mistake. */
function refuseIfMistaken(source: ConfigSource, [someName]: readonly string[]): void {
  if (someName !== undefined) {
    throw new Refusal(`holds no .yaml or .yml file, but ${someName}; rename what is configuration to end in .yaml`);
  }
  if (source.kind === 'path') throw new Refusal('holds no .yaml or .yml file; put one there, or name a file');
}

/** Relative paths of all files down to that depth, except names with a leading dot: ConfigMaps keep copies there. */
async function walk(directory: string, { depthMax, onDirectory, seen, above, prefix }: WalkOptions): Promise<string[]> {
  await onDirectory(directory);
  const found: string[] = [];
  for (const entry of await fs.readdir(directory)) {
    if (entry.startsWith('.')) continue;
    seen.count += 1;
    if (seen.count > ENTRIES_MAX)
      throw new Refusal(
        `holds over ${ENTRIES_MAX} files and directories, counting what symlinks lead to each time; remove files that are not configuration`,
      );
    const full = path.join(directory, entry);
    const name = path.join(prefix, entry);
    const identity = await directoryAt(full);
    if (identity === undefined) found.push(name);
    // A symlink to a parent directory has no further files.
    else if (depthMax > 0 && !above.includes(identity))
      found.push(...(await walk(full, { depthMax: depthMax - 1, onDirectory, seen, above: [...above, identity], prefix: name })));
  }
  return found;
}

interface WalkOptions {
  readonly depthMax: number;
  readonly onDirectory: (directory: string) => Promise<void>;
  /** Counts entries of all directories. */
  readonly seen: { count: number };
  /** The directory and its parents. */
  readonly above: readonly string[];
  readonly prefix: string;
}

/** Identity of the directory; undefined for a file. A dangling symlink counts as a file, so that reading it reports the problem. */
async function directoryAt(full: string): Promise<string | undefined> {
  const stats = await fs.stat(full).catch(() => undefined);
  return stats?.isDirectory() === true ? identityOf(stats) : undefined;
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev} ${ino}`;
}

/** Files of tests stand beside the configuration, and are not loaded. */
function isYaml(name: string): boolean {
  return /(?<!\.test)\.ya?ml$/.test(name);
}

/** `isNamed`: the operator named this file, so a pipe is acceptable. A pipe in a directory might never get a writer. */
async function readText(name: string, { isNamed }: { readonly isNamed: boolean }): Promise<string> {
  const handle = await fs.open(name, isNamed ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!isNamed && !(await handle.stat()).isFile()) throw new Refusal('is not a regular file; remove it');
    return await readUpTo(handle, CONFIG_FILE_BYTES_MAX);
  } finally {
    await handle.close();
  }
}

/** Does not trust the size of the file, which may grow, and which pipes and devices do not have. Decodes each chunk, because decoding a whole file would take long. */
async function readUpTo(handle: FileHandle, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const texts: string[] = [];
  let bytes = 0;
  // The last byte read is the first one beyond the limit.
  for await (const chunk of handle.createReadStream({ end: bytesMax, autoClose: false, highWaterMark: CHUNK_BYTES })) {
    bytes += (chunk as Buffer).length;
    if (bytes > bytesMax) throw new Refusal(`is longer than ${bytesMax} bytes; split its domains over files`);
    texts.push(decode(decoder, chunk as Buffer));
  }
  return [...texts, decode(decoder)].join('');
}

/** Without a chunk: the rest at the end. */
function decode(decoder: TextDecoder, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    throw new Refusal('is not UTF-8 text; save it as UTF-8');
  }
}
