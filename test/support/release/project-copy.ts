/** A copy of the project, in which a test says where the project lives, and changes files. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, type CommandResult } from '../processes/command';

const ROOT = path.resolve(__dirname, '..', '..', '..');

/** They belong to this machine; the copy has links to the first two. */
const LINKED = ['node_modules', '.cache'];
const HOME_FILE = path.join('scripts', 'release', 'home.json');
const LEFT_OUT = [...LINKED, '.git', 'dist'];

/** What an owner chooses, by the option of set-home.mjs. */
export const HOME = {
  repository: 'https://forge.example/org/weir',
  homepage: 'https://weir.example',
  security: 'security@org.example',
  maintainer: 'The Weir maintainers',
  email: 'weir@org.example',
  image: 'registry.example/org/weir',
  charts: 'registry.example/org/charts',
  'npm-registry': 'https://npm.example',
} as const;

export interface ProjectCopy {
  readonly folder: string;
  read(file: string): string;
  /** Replaces a text that must be there. */
  change(file: string, from: string, to: string): void;
  /** Runs a script of the copy with node. */
  run(script: string, ...args: readonly string[]): Promise<CommandResult>;
  remove(): void;
}

/** The scope of the packages has a default, so a copy keeps it. The rest is empty, whatever this repository says. */
export const { npmScope } = JSON.parse(readFileSync(path.join(ROOT, HOME_FILE), 'utf8')) as { npmScope: string };

function forgetHome(folder: string): void {
  const home = JSON.parse(readFileSync(path.join(folder, HOME_FILE), 'utf8')) as Record<string, string>;
  const empty = { ...Object.fromEntries(Object.keys(home).map((field) => [field, ''])), npmScope };
  writeFileSync(path.join(folder, HOME_FILE), JSON.stringify(empty));
}

/** `settle` writes its home, which is none until then, into the files of the copy. */
export function copyProject(): ProjectCopy {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-project-'));
  const isCopied = (source: string) => !LEFT_OUT.includes(path.relative(ROOT, source));
  cpSync(ROOT, folder, { recursive: true, filter: isCopied });
  for (const name of LINKED) symlinkSync(path.join(ROOT, name), path.join(folder, name));
  forgetHome(folder);
  const read = (file: string) => readFileSync(path.join(folder, file), 'utf8');
  return {
    folder,
    read,
    change: (file, from, to) => {
      const text = read(file);
      expect(text).toContain(from);
      writeFileSync(path.join(folder, file), text.replace(from, to));
    },
    run: (script, ...args) => runCommand(process.execPath, [path.join(folder, script), ...args], { cwd: folder, timeoutMs: 300_000 }),
    remove: () => {
      rmSync(folder, { recursive: true });
    },
  };
}

/** Says in the copy where the project lives, as its owner does. */
export function settle(copy: ProjectCopy, home: Readonly<Record<string, string>> = HOME): Promise<CommandResult> {
  return copy.run('scripts/release/set-home.mjs', ...Object.entries(home).flatMap(([option, value]) => [`--${option}`, value]));
}

/** Puts a digest beside the tag of each image in the copy, as pin-images.mjs does with those of a registry. */
export async function pin(copy: ProjectCopy): Promise<void> {
  const script = `import('./scripts/release/images.mjs').then(({ pinImages }) => pinImages({ resolve: () => 'sha256:' + 'a'.repeat(64) }))`;
  expect(await runCommand(process.execPath, ['-e', script], { cwd: copy.folder })).toMatchObject({ exitCode: 0, stderr: '' });
}
