/** Builds the file tree of the image by the steps of deploy/Dockerfile, without an engine: each stage is a folder, and each RUN runs with it as its root. */
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../processes/command';
import { readDockerfile, type Instruction, type Stage } from './dockerfile';
import { makeRoot, runInRoot, type Mount } from './sandbox';

const ROOT = path.resolve(__dirname, '..', '..', '..');
const HOME = '/tmp/home';

/** What npm needs to reach its registry as this machine does. */
const PASSED = /^(npm_config_.*|node_extra_ca_certs|ssl_cert_(file|dir)|https?_proxy|no_proxy)$/i;
const SYSTEM_FILES = ['/etc/ssl', '/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf'];

export interface Image {
  /** Its root. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly entrypoint: readonly [string, ...string[]];
  readonly healthcheck: readonly [string, ...string[]];
}

export interface BuildOptions {
  /** An empty folder. */
  readonly folder: string;
  /** The project that is built; default: this one. */
  readonly root?: string;
  /** A RUN whose result is mounted instead: by its text, where the result is, and where the step would have put it. */
  readonly known?: Readonly<Record<string, { readonly from: string; readonly to: string }>>;
}

/** What a stage has become so far. */
interface Built {
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly mounts: Mount[];
  workdir: string;
  user: string;
  entrypoint: string[];
  healthcheck: string[];
}

export async function buildImage({ folder, root = ROOT, known = {} }: BuildOptions): Promise<Image> {
  const stages = readDockerfile(path.join(root, 'deploy', 'Dockerfile'));
  const npm = await npmMounts();
  const done = new Map<string | undefined, Built>();
  for (const stage of stages) done.set(stage.name, await buildStage(stage));
  const last = done.get(undefined)!;
  const [uid = NaN, gid = NaN] = last.user.split(':').map(Number);
  const [entry = '', ...entryArgs] = last.entrypoint;
  const [check = '', ...checkArgs] = last.healthcheck;
  const { folder: tree, env, workdir } = last;
  return { folder: tree, env, workdir, user: { uid, gid }, entrypoint: [entry, ...entryArgs], healthcheck: [check, ...checkArgs] };

  async function buildStage({ name = 'last', instructions }: Stage): Promise<Built> {
    const tree = path.join(folder, name);
    makeRoot(tree);
    const built: Built = { folder: tree, env: {}, mounts: [], workdir: '/', user: '0:0', entrypoint: [], healthcheck: [] };
    for (const instruction of instructions) await apply(instruction, built);
    return built;
  }

  async function apply({ name, text }: Instruction, built: Built): Promise<void> {
    if (name === 'WORKDIR') {
      built.workdir = path.posix.resolve(built.workdir, text);
      mkdirSync(inside(built.workdir, built), { recursive: true });
    } else if (name === 'ENV') {
      const [variable = '', value = ''] = text.split(/=(.*)/s);
      built.env[variable] = value;
    } else if (name === 'COPY') copy(text, built);
    else if (name === 'RUN') await runStep(text, built);
    else if (name === 'USER') built.user = text;
    else if (name === 'ENTRYPOINT') built.entrypoint = JSON.parse(text) as string[];
    else if (name === 'HEALTHCHECK') built.healthcheck = JSON.parse(text.slice(text.indexOf(' CMD ') + 5)) as string[];
  }

  function copy(text: string, built: Built): void {
    const words = text.split(/\s+/);
    const flags = words.filter((word) => word.startsWith('--'));
    const paths = words.filter((word) => !word.startsWith('--'));
    const [from] = flags.filter((flag) => flag.startsWith('--from=')).map((flag) => flag.slice('--from='.length));
    const [mode] = flags.filter((flag) => flag.startsWith('--chmod=')).map((flag) => Number.parseInt(flag.slice('--chmod='.length), 8));
    const to = paths.pop()!;
    const isInto = paths.length > 1 || to.endsWith('/');
    for (const source of paths) {
      const full = from === undefined ? fromContext(root, source) : inside(source, done.get(from)!);
      const target = inside(path.posix.resolve(built.workdir, to), built);
      const isFolder = statSync(full).isDirectory();
      const destination = isInto && !isFolder ? path.join(target, path.basename(source)) : target;
      cpSync(full, destination, { recursive: true, verbatimSymlinks: true, mode: 0 });
      if (mode !== undefined) chmodSync(destination, mode);
    }
  }

  async function runStep(text: string, built: Built): Promise<void> {
    const found = known[text];
    if (found !== undefined) {
      built.mounts.push(found);
      return;
    }
    const { exitCode, stdout, stderr } = await runInRoot(built.folder, {
      command: ['/bin/sh', '-c', text],
      cwd: built.workdir,
      env: { ...passedEnv(), HOME, ...built.env },
      mounts: [...npm, ...built.mounts],
    });
    if (exitCode !== 0) throw new Error(`RUN ${text} ended with ${exitCode}:\n${stdout}${stderr}`);
  }
}

function inside(file: string, { folder }: Pick<Built, 'folder'>): string {
  return path.join(folder, file);
}

/** A file that .dockerignore lets through. */
function fromContext(root: string, source: string): string {
  const [first, ...allowed] = readFileSync(path.join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (first !== '*' || !allowed.includes(`!${source}`)) throw new Error(`.dockerignore keeps ${source} out of the build`);
  return path.join(root, source);
}

/** npm comes with Node in a base image; here it is this machine's, with its cache. */
async function npmMounts(): Promise<Mount[]> {
  const [program, cache] = await Promise.all([answerOf('sh', ['-c', 'command -v npm']), answerOf('npm', ['config', 'get', 'cache'])]);
  const npmPackage = path.resolve(realpathSync(program), '..', '..');
  mkdirSync(cache, { recursive: true });
  const launcher = path.join(cache, 'weir-image-npm');
  writeFileSync(launcher, '#!/bin/sh\nexec /opt/node/node /opt/npm/bin/npm-cli.js "$@"\n', { mode: 0o755 });
  const userConfig = path.join(process.env.HOME ?? '', '.npmrc');
  return [
    { from: npmPackage, to: '/opt/npm' },
    { from: launcher, to: '/opt/node/npm' },
    { from: cache, to: `${HOME}/.npm`, isWritable: true },
    ...(existsSync(userConfig) ? [{ from: userConfig, to: `${HOME}/.npmrc` }] : []),
    ...SYSTEM_FILES.filter((file) => existsSync(file)).map((file) => ({ from: file, to: file })),
  ];
}

async function answerOf(command: string, args: readonly string[]): Promise<string> {
  return (await runCommand(command, args)).stdout.trim();
}

function passedEnv(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (PASSED.test(name) && value !== undefined ? [[name, value]] : [])),
  );
}
