/** A root file system in which programs run without an engine: bubblewrap, with this machine's /usr in the place of the base image. */
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand, type CommandResult } from '../processes/command';

/** Where a base image of Node has its node, and where the sandbox has it. */
const NODE_FOLDER = '/opt/node';
const PATH_INSIDE = `${NODE_FOLDER}:/usr/local/bin:/usr/bin:/bin`;

/** Longer than any step of a build. */
const BUILD_TIMEOUT_MS = 300_000;

/** The programs of the base image's /bin that the tree's own /bin would hide. */
const SHELL_PROGRAMS = ['sh', 'env'];

export interface Mount {
  readonly from: string;
  readonly to: string;
  readonly isWritable?: boolean;
}

export interface SandboxRun {
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  /** The user and the group by number; default: the one who builds, who may write. Others get a read-only root, and no network but loopback. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly timeoutMs?: number;
}

/** An empty root with what every base image has. */
export function makeRoot(folder: string): void {
  for (const name of ['usr', 'proc', 'dev', 'etc', 'tmp', 'bin', NODE_FOLDER]) mkdirSync(path.join(folder, name), { recursive: true });
  for (const name of ['lib', 'lib64']) symlinkSync(path.join('usr', name), path.join(folder, name));
  for (const name of SHELL_PROGRAMS) symlinkSync(path.join('..', 'usr', 'bin', name), path.join(folder, 'bin', name));
  // Each engine writes it.
  writeFileSync(path.join(folder, 'etc', 'hosts'), '127.0.0.1 localhost\n');
  copyFileSync(process.execPath, path.join(folder, NODE_FOLDER, 'node'));
}

/** Runs a program with the folder as its root. */
export function runInRoot(folder: string, run: SandboxRun): Promise<CommandResult> {
  const { command, cwd = '/', env = {}, mounts = [], user, timeoutMs = BUILD_TIMEOUT_MS } = run;
  const isBuild = user === undefined;
  const args = [
    ...['--unshare-pid', '--die-with-parent', '--clearenv'],
    ...(isBuild
      ? ['--bind', folder, '/']
      : ['--unshare-user', '--unshare-net', '--uid', String(user.uid), '--gid', String(user.gid), '--ro-bind', folder, '/']),
    ...['--ro-bind', '/usr', '/usr', '--proc', '/proc', '--dev', '/dev'],
    ...mounts.flatMap(({ from, to, isWritable = false }) => [isWritable ? '--bind' : '--ro-bind', from, to]),
    ...Object.entries({ PATH: PATH_INSIDE, ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', cwd, '--', ...command],
  ];
  const bubblewrap = process.env.WEIR_BUBBLEWRAP ?? 'bwrap';
  // Root inside a user namespace would still be root for the files of the tree.
  if (user === undefined || process.geteuid?.() !== 0) return runCommand(bubblewrap, args, { timeoutMs });
  const drop = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--', copyBeside(folder, bubblewrap), ...args];
  return runCommand('setpriv', drop, { timeoutMs });
}

/** The user of the image may not see a program that was unpacked below a folder of root, but sees what is beside its own root. */
function copyBeside(folder: string, program: string): string {
  const unpacked = path.resolve(program, '..', '..');
  if (!existsSync(path.join(unpacked, 'root'))) return program;
  const copy = `${folder}.bubblewrap`;
  if (!existsSync(copy)) cpSync(unpacked, copy, { recursive: true, verbatimSymlinks: true });
  chmodSync(copy, 0o755);
  return path.join(copy, 'bin', path.basename(program));
}
