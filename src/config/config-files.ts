/** Finds the configuration files of a source and reads their text, within bounds. */

import fs from 'node:fs';
import path from 'node:path';
import type { ConfigProblem } from './config-error';
import type { ConfigFile } from './yaml-text';

export type ConfigSource =
  /** `--config`: one file, or the YAML files directly in a directory. */
  | { readonly kind: 'path'; readonly path: string }
  /** `RUNTIME_*`: the YAML files anywhere below a directory, as the reference has it. */
  | { readonly kind: 'runtime'; readonly directory: string };

export const CONFIG_FILE_BYTES_MAX = 16 * 1024 * 1024;

export const CONFIG_FILES_MAX = 4096;

/** Directories within directories: more than anybody nests, less than a loop of symlinks makes. */
const DIRECTORY_DEPTH_MAX = 16;

export interface ReadFiles {
  /** In load order. */
  readonly files: readonly ConfigFile[];
  readonly problems: readonly ConfigProblem[];
}

/** Never throws: what can't be read is a problem. Blocks, as a load is rare and small. */
export function readConfigFiles(source: ConfigSource): ReadFiles {
  const problems: ConfigProblem[] = [];
  const names = attempt(() => listFiles(source), { name: placeOf(source), advice: adviceFor(source), problems }) ?? [];
  const files: ConfigFile[] = [];
  for (const name of names) {
    const text = attempt(() => readText(name), { name, advice: 'make it readable or remove it', problems });
    if (text !== undefined) files.push({ name, text });
  }
  return { files, problems };
}

/** A reason for refusing that is Weir's own, and says what to do already. */
class Refusal extends Error {}

function attempt<T>(
  read: () => T,
  { name, advice, problems }: { name: string; advice: string; problems: ConfigProblem[] },
): T | undefined {
  try {
    return read();
  } catch (error) {
    problems.push({ file: name, line: 0, column: 0, path: '', message: explain(error, advice) });
    return undefined;
  }
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
  return 'set RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY so that they name it, or use --config';
}

/** The paths, sorted, as they are read and as problems show them. */
function listFiles(source: ConfigSource): string[] {
  const place = placeOf(source);
  // Follows symlinks everywhere: a ConfigMap's files, and RUNTIME_ROOT itself, are symlinks.
  const isDirectory = fs.statSync(place).isDirectory();
  if (source.kind === 'path' && !isDirectory) return [place];
  const names = walk(place, source.kind === 'path' ? { depthMax: 0 } : { depthMax: DIRECTORY_DEPTH_MAX });
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
function walk(directory: string, { depthMax, prefix = '' }: { depthMax: number; prefix?: string }): string[] {
  const found: string[] = [];
  for (const entry of fs.readdirSync(directory)) {
    if (entry.startsWith('.')) continue;
    const full = path.join(directory, entry);
    const name = path.join(prefix, entry);
    if (!isDirectoryAt(full)) found.push(name);
    else if (depthMax > 0) found.push(...walk(full, { depthMax: depthMax - 1, prefix: name }));
  }
  return found;
}

/** A dangling symlink counts as a file: reading it then says what is wrong with it. */
function isDirectoryAt(full: string): boolean {
  return fs.statSync(full, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isYaml(name: string): boolean {
  return name.endsWith('.yaml') || name.endsWith('.yml');
}

function readText(name: string): string {
  const { size } = fs.statSync(name);
  if (size > CONFIG_FILE_BYTES_MAX) {
    throw new Refusal(`is ${size} bytes long, and at most ${CONFIG_FILE_BYTES_MAX} are read; split its domains over files`);
  }
  const bytes = fs.readFileSync(name);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal('is not UTF-8 text; save it as UTF-8');
  }
}
