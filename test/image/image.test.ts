/** The steps of the Dockerfile make an image that decides as its user on a read-only root, with a health check and the console. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { figure } from '../support/docs/figure';
import { buildImage, type Image } from '../support/image/build-image';
import { runInRoot } from '../support/image/sandbox';
import { runCommand } from '../support/processes/command';
import { isLong } from '../support/random/form';

const ROOT = path.resolve(__dirname, '..', '..');
const BUILD_MS = 600_000;
const START_MS = 120_000;

/** The short form mounts what `npm test` has installed by the same lock file; another test compares the two. */
const KNOWN = isLong ? {} : { 'npm ci --ignore-scripts': { from: path.join(ROOT, 'node_modules'), to: '/app/node_modules' } };

/** The example allows three of these a minute. */
const PAYMENT = {
  domain: 'payments',
  descriptors: [
    {
      entries: [
        { key: 'path', value: '/payment' },
        { key: 'client', value: '10.0.0.7' },
      ],
    },
  ],
};

const folder = mkdtempSync(path.join(tmpdir(), 'weir-image-'));
let image: Image;

interface Seen {
  readonly codes: readonly string[];
  readonly firstMs: number;
  readonly rssMiB: number;
  readonly log: string;
  readonly [name: string]: unknown;
}

beforeAll(async () => {
  image = await buildImage({ folder: path.join(folder, 'stages'), known: KNOWN });
  // Its user has to see it.
  await runCommand('chmod', ['755', folder]);
}, BUILD_MS);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What the driver saw inside. */
async function start({ entrypoint = image.entrypoint }: { readonly entrypoint?: readonly string[] } = {}): Promise<Seen> {
  const driver = path.join(folder, 'inside.cjs');
  copyFileSync(path.join(__dirname, 'inside.cjs'), driver);
  const input = { entrypoint, healthcheck: image.healthcheck, port: 8080, body: PAYMENT, calls: 4 };
  const { exitCode, stdout, stderr } = await runInRoot(image.folder, {
    command: ['/opt/node/node', '/dev/inside.cjs', JSON.stringify(input)],
    cwd: image.workdir,
    env: image.env,
    user: image.user,
    mounts: [{ from: driver, to: '/dev/inside.cjs' }],
    timeoutMs: START_MS,
  });
  if (exitCode !== 0) throw new Error(`the driver ended with ${exitCode}:\n${stdout}${stderr}`);
  return JSON.parse(stdout) as Seen;
}

async function mebibytesOf(place: string): Promise<number> {
  const { stdout } = await runCommand('du', ['-s', '--block-size=1', '--apparent-size', path.join(image.folder, place)]);
  return Number(stdout.split('\t')[0]) / 2 ** 20;
}

test(
  'the tree of the image, built by the Dockerfile, starts as its user with a read-only root and serves its example without a setting',
  async () => {
    const seen = await start();
    expect(seen).toMatchObject({
      codes: ['200 OK', '200 OK', '200 OK', '429 OVER_LIMIT'],
      client: expect.stringContaining('overall_code') as string,
      health: 0,
      healthDraining: 1,
      healthAfter: 1,
      uid: 65532,
      gid: 65532,
      writes: ['EROFS', 'EROFS', 'EROFS', 'EROFS'],
      hasConsole: true,
    });
    expect(seen.log).toContain('the limits are those of the example in /app/deploy/example, because nothing says where yours are');
    const [app, packages] = [await mebibytesOf('app'), await mebibytesOf('app/node_modules')];
    figure(
      `${app.toFixed(1)} MiB above the base image, ${packages.toFixed(1)} of them packages; first decision ${Math.round(seen.firstMs)} ms after the start; ${Math.round(seen.rssMiB)} MiB resident`,
    );
  },
  START_MS,
);

test(
  'the packages that get tokens for Redis are there, whole enough to sign one',
  async () => {
    const script = `
      const { openIdentity } = require('./dist/program/app/deciding/open-identity.js');
      require('./dist/state/store/redis/credentials/open-entra-id.js').openEntraId({ renewMs: 1 });
      const aws = { kind: 'aws', cacheName: 'c', userId: 'u', region: 'r', service: 'elasticache', isServerless: false, renewMs: 1 };
      openIdentity(aws)(() => undefined).then(({ username }) => console.log(username));`;
    const env = { ...image.env, AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };
    const { stdout, stderr } = await runInRoot(image.folder, { command: ['/opt/node/node', '-e', script], cwd: image.workdir, env });
    expect({ stdout, stderr }).toEqual({ stdout: 'u\n', stderr: '' });
  },
  START_MS,
);

test(
  'a folder at the default of RUNTIME_ROOT ends the example of the image',
  async () => {
    mkdirSync(path.join(image.folder, 'srv', 'runtime_data', 'current', 'config'), { recursive: true });
    copyFileSync(path.join(ROOT, 'bench', 'limits.yaml'), path.join(image.folder, 'srv/runtime_data/current/config/limits.yaml'));
    try {
      expect((await start()).log).not.toContain('example');
    } finally {
      rmSync(path.join(image.folder, 'srv'), { recursive: true });
    }
  },
  START_MS,
);

test('the packages that the short form mounts are those that npm ci would install', () => {
  interface Packages {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string; readonly optional?: boolean }>>;
  }
  const read = (file: string) => (JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')) as Packages).packages;
  const [locked, installed] = [read('package-lock.json'), read('node_modules/.package-lock.json')];
  for (const [name, { version, integrity, optional }] of Object.entries(locked)) {
    // The project itself, and optional packages of other systems.
    if (name === '') continue;
    if (optional === true && installed[name] === undefined) continue;
    expect({ name, version: installed[name]?.version }).toEqual({ name, version });
    if (integrity !== undefined) expect({ name, integrity: installed[name]?.integrity }).toEqual({ name, integrity });
  }
});
