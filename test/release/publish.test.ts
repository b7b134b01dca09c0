/** The steps of the workflow publish a whole release to registries on this machine, also after a kill, and users install it, upgrade and go back. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { buildImage, type Image } from '../support/image/build-image';
import { labelsOf, readDockerfile } from '../support/image/dockerfile';
import { unpackLayout, writeLayout } from '../support/image/oci-layout';
import { makeRoot, runInRoot } from '../support/image/sandbox';
import { runCommand, type CommandResult } from '../support/processes/command';
import { copyProject, HOME, settle, type ProjectCopy } from '../support/release/project-copy';
import { startImageRegistry, startPackageRegistry, type Registry } from '../support/release/registries';

const ROOT = path.resolve(__dirname, '..', '..');
const CACHE = path.join(ROOT, '.cache');
const HELM = process.env.WEIR_HELM ?? path.join(CACHE, 'helm', 'v3.22.0');
const ORAS = process.env.WEIR_ORAS ?? path.join(CACHE, 'oras', 'v1.3.6');
const COSIGN = process.env.WEIR_COSIGN ?? path.join(CACHE, 'cosign', 'v3.1.3');
const [OLD, NEW] = ['1.1.0', '1.2.0'];
const CREATED_S = 1_800_000_000;
const COMMIT = 'c'.repeat(40);
const STEP_MS = 900_000;
const PACKAGES = ['client', 'limiter', 'weir'];
/** The development packages that the image is built with are those of this checkout; the ones that it ships are installed. */
const KNOWN = { 'npm ci --ignore-scripts': { from: path.join(ROOT, 'node_modules'), to: '/app/node_modules' } };

const folder = mkdtempSync(path.join(tmpdir(), 'weir-release-'));
const wrappers = path.join(folder, 'wrappers');
const key = path.join(folder, 'cosign.key');
let images: Registry;
let packages: Registry;
let image: Image;
let env: Readonly<Record<string, string>>;
let versions: Readonly<Record<string, Version>>;

interface Version {
  readonly copy: ProjectCopy;
  readonly release: string;
  readonly digest: string;
}

beforeAll(async () => {
  images = await startImageRegistry(path.join(folder, 'images'));
  packages = await startPackageRegistry(path.join(folder, 'packages'));
  env = environment();
  const { exitCode } = await runCommand(COSIGN, ['generate-key-pair', '--output-key-prefix', key.replace(/\.key$/, '')], { env });
  expect(exitCode).toBe(0);
  for (const name of ['cosign', 'npm']) writeWrapper(name);
  await seed();
  const old = await copyOf(OLD);
  image = await buildImage({ folder: path.join(folder, 'stages'), root: old.folder, known: KNOWN });
  const oldVersion = await packed(old, OLD);
  const next = await copyOf(NEW);
  // Nothing else differs in the image of the next version.
  copyFileSync(path.join(next.folder, 'package.json'), path.join(image.folder, 'app', 'package.json'));
  versions = { [OLD]: oldVersion, [NEW]: await packed(next, NEW) };
  await runCommand('chmod', ['755', folder]);
}, 2 * STEP_MS);

afterAll(async () => {
  await images.stop();
  await packages.stop();
  for (const { copy } of Object.values(versions)) copy.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** What the tools may know: the registries, and how this machine reaches others. */
function environment(): Record<string, string> {
  const passed = /^(?:npm_config_.*|node_extra_ca_certs|ssl_cert_(?:file|dir)|(?:https?|no)_proxy|GO.*)$/i;
  const own = Object.entries(process.env).filter(([name, value]) => passed.test(name) && value !== undefined) as [string, string][];
  const npmrc = path.join(folder, 'npmrc');
  writeFileSync(npmrc, `//${packages.address}/:_authToken=anybody\n@weir-rls:registry=http://${packages.address}\n`);
  return {
    ...Object.fromEntries(own),
    ...{ PATH: `${wrappers}:${process.env.PATH ?? ''}`, npm_config_userconfig: npmrc, DOCKER_CONFIG: path.join(folder, 'docker') },
    ...{ COSIGN_PASSWORD: '', SOURCE_DATE_EPOCH: String(CREATED_S), GITHUB_SHA: COMMIT, STOP: '', STOPPED: path.join(folder, 'stopped') },
  };
}

/** In place of a tool: it kills the step that calls it with arguments that contain $STOP, once. */
function writeWrapper(name: string): void {
  mkdirSync(wrappers, { recursive: true });
  const real = name === 'cosign' ? COSIGN : execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
  const file = path.join(wrappers, name);
  const stop = 'if [ -n "$STOP" ] && [ ! -e "$STOPPED" ]; then case "$*" in *"$STOP"*) : > "$STOPPED"; kill -9 $PPID; exit 1;; esac; fi';
  writeFileSync(file, `#!/bin/sh\n${stop}\nexec "${real}" "$@"\n`);
  chmodSync(file, 0o755);
}

/** Puts something under the name of each image of others, as a registry has it. */
async function seed(): Promise<void> {
  const names = await output(
    process.execPath,
    [
      '-e',
      `import('./scripts/release/images.mjs').then(({ namedImages, fullName, withoutDigest }) => {
    for (const { image } of namedImages()) console.log(fullName(withoutDigest(image), '${images.address}'));
  })`,
    ],
    ROOT,
  );
  writeFileSync(path.join(folder, 'seed'), 'seed');
  for (const name of names.split('\n'))
    await output(ORAS, ['push', '--no-tty', '--plain-http', name, '--artifact-type', 'application/x-seed', 'seed']);
}

async function copyOf(version: string): Promise<ProjectCopy> {
  const copy = copyProject();
  cpSync(path.join(ROOT, 'dist'), path.join(copy.folder, 'dist'), { recursive: true, preserveTimestamps: true });
  const [image, charts] = [`${images.address}/org/weir`, `${images.address}/org/charts`];
  expect(await settle(copy, { ...HOME, image, charts, 'npm-registry': `http://${packages.address}` })).toMatchObject({ exitCode: 0 });
  const now = (JSON.parse(copy.read('package.json')) as { version: string }).version;
  for (const file of ['package.json', 'package-lock.json']) copy.change(file, `"version": "${now}"`, `"version": "${version}"`);
  copy.change('package-lock.json', `"version": "${now}"`, `"version": "${version}"`);
  copy.change('deploy/helm/weir/Chart.yaml', `\nversion: ${now}`, `\nversion: ${version}`);
  copy.change('deploy/helm/weir/Chart.yaml', `\nappVersion: ${now}`, `\nappVersion: ${version}`);
  copy.change('CHANGELOG.md', `## [${now}] - `, `## [${version}] - 2030-01-01\n\n- A change.\n\n## [${now}] - `);
  expect(await settle(copy, {})).toMatchObject({ exitCode: 0 });
  const pin = ['--mirror', images.address, '--plain-http'];
  expect(await copy.run('scripts/release/pin-images.mjs', ...pin)).toMatchObject({ exitCode: 0, stderr: '' });
  return copy;
}

async function packed(copy: ProjectCopy, version: string): Promise<Version> {
  const release = path.join(folder, version);
  const args = { VERSION: version, REVISION: COMMIT, CREATED: new Date(CREATED_S * 1000).toISOString() };
  const labels = labelsOf(readDockerfile(path.join(copy.folder, 'deploy', 'Dockerfile'), args));
  const digest = await writeLayout({ image, labels, createdS: CREATED_S, folder: path.join(release, 'image') });
  const result = await step(copy, 'pack', release);
  expect({ exitCode: result.exitCode, stderr: result.stderr }).toEqual({ exitCode: 0, stderr: '' });
  return { copy, release, digest };
}

function step(copy: ProjectCopy, name: string, release: string, stop = ''): Promise<CommandResult> {
  const args = [path.join(copy.folder, 'scripts', 'release', 'release.mjs'), name, '--folder', release, '--key', key, '--plain-http'];
  return runCommand(process.execPath, args, { cwd: copy.folder, env: { ...env, STOP: stop }, timeoutMs: STEP_MS });
}

/** Runs a step of a version that must succeed. */
async function succeed(name: string, version: string): Promise<string> {
  const { copy, release } = versions[version]!;
  const { exitCode, stdout, stderr } = await step(copy, name, release);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

async function output(command: string, args: readonly string[], cwd = folder): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(command, args, { cwd, env, timeoutMs: STEP_MS });
  if (exitCode !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${exitCode}: ${stdout}${stderr}`);
  return stdout.trim();
}

/** What was written of the release, without the images of others. */
const ofRelease = () => images.written().filter((each) => each.startsWith('org/'));

const resolveTag = (name: string) => output(ORAS, ['resolve', '--plain-http', `${images.address}/org/${name}`]);

test(
  'packing in two folders, each from a build of its own, gives the same bytes',
  async () => {
    const { release } = versions[NEW]!;
    const again = path.join(folder, 'again');
    const copy = await copyOf(NEW);
    cpSync(path.join(release, 'image'), path.join(again, 'image'), { recursive: true });
    rmSync(path.join(copy.folder, 'dist'), { recursive: true });
    expect(await step(copy, 'pack', again)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await output('diff', ['-r', release, again])).toBe('');
    copy.remove();
  },
  STEP_MS,
);

test('the record names every artifact with its digest, and the provenance has the same digests and the commit', () => {
  const { release, digest } = versions[OLD]!;
  const read = (name: string) => JSON.parse(readFileSync(path.join(release, name), 'utf8')) as Record<string, unknown>;
  const { chart, packages: tarballs } = read('release.json') as {
    chart: { file: string; digest: string };
    packages: { name: string; file: string }[];
  };
  expect(tarballs.map(({ name }) => name).sort()).toEqual(PACKAGES.map((name) => `@weir-rls/${name}`));
  const { subject, predicate } = read('provenance.json') as { subject: { name: string; digest: { sha256: string } }[]; predicate: object };
  expect(subject.map(({ name }) => name)).toEqual([`${images.address}/org/weir`, chart.file, ...tarballs.map(({ file }) => file)]);
  expect([`sha256:${subject[0]!.digest.sha256}`, `sha256:${subject[1]!.digest.sha256}`]).toEqual([digest, chart.digest]);
  expect(JSON.stringify(predicate)).toContain(`"gitCommit":"${COMMIT}"`);
  for (const name of ['image', ...PACKAGES.map((each) => `weir-rls-${each}-${OLD}`)]) {
    const { bomFormat, components } = read(`sbom/${name}.cdx.json`) as { bomFormat: string; components: { name: string }[] };
    expect(bomFormat).toBe('CycloneDX');
    expect(components.length).toBeGreaterThan(20);
    if (!name.includes('limiter')) expect(components.map((each) => each.name)).toContain('@grpc/grpc-js');
  }
});

test(
  'what is wrong stops the release before anything is public: an image of another commit, a changed tarball',
  async () => {
    const { copy, release } = versions[OLD]!;
    const bad = path.join(folder, 'bad');
    cpSync(release, bad, { recursive: true });
    const record = readFileSync(path.join(bad, 'release.json'), 'utf8');
    writeFileSync(path.join(bad, 'release.json'), record.replace(COMMIT, 'd'.repeat(40)));
    expect(await step(copy, 'publish', bad)).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `The label revision of the image ${versions[OLD]!.digest} is ${COMMIT}; build it with ${'d'.repeat(40)}.\n`,
    });
    const tarball = `npm/weir-rls-client-${OLD}.tgz`;
    appendFileSync(path.join(bad, tarball), 'x');
    expect(await step(copy, 'publish', bad)).toMatchObject({
      exitCode: 1,
      stderr: `${tarball} has changed since it was packed; run the step pack again.\n`,
    });
    expect(await succeed('check', OLD)).toBe('Nothing stops the release.\n');
    expect([ofRelease(), packages.written()]).toEqual([[], []]);
  },
  STEP_MS,
);

test(
  'a release that is killed three times, in the image, the chart and the packages, ends as one that was not, and nothing is published twice',
  async () => {
    const { copy, release, digest } = versions[OLD]!;
    for (const stop of [
      'attest --yes',
      `sign --yes --key ${key} --use-signing-config=false --tlog-upload=false --allow-http-registry ${images.address}/org/charts`,
      'weir-rls-limiter',
    ]) {
      rmSync(env.STOPPED!, { force: true });
      // npm asks about a version before it publishes.
      const killed = await step(
        copy,
        'publish',
        release,
        stop === 'weir-rls-limiter' ? `publish ${release}/npm/${stop}-${OLD}.tgz --ignore-scripts --access=public --tag=latest` : stop,
      );
      expect({ stop, exitCode: killed.exitCode }).toEqual({ stop, exitCode: -1 });
      // Tags that move come when all is there.
      expect(ofRelease().filter((each) => /:1(?:\.1)?$/.test(each))).toEqual([]);
    }
    rmSync(env.STOPPED!, { force: true });
    const stdout = await succeed('publish', OLD);
    expect(stdout).toContain(`${images.address}/org/weir:${OLD} (${digest}) is there already`);
    expect(stdout).toContain(`@weir-rls/limiter@${OLD} is published`);
    expect(await Promise.all([`weir:${OLD}`, 'weir:1.1', 'weir:1'].map(resolveTag))).toEqual([digest, digest, digest]);
    // The listing of the chart is written again, as it was.
    const once = [`org/weir:${digest}`, `org/weir:${OLD}`, 'org/weir:1.1', 'org/weir:1', `org/charts/weir:${OLD}`];
    const timesOf = (written: readonly string[]) => once.map((name) => written.filter((each) => each === name).length);
    expect(timesOf(images.written())).toEqual(once.map(() => 1));
    expect([...packages.written()].sort()).toEqual(PACKAGES.map((name) => `@weir-rls/${name}`));
    expect(await succeed('publish', OLD)).toMatch(/^(?:\S+(?: \(\S+\))? is there already\n){5}$/);
    expect([timesOf(images.written()), packages.written().length]).toEqual([once.map(() => 1), PACKAGES.length]);
  },
  2 * STEP_MS,
);

test(
  'image and chart are signed, and the image has its contents and its origin attested',
  async () => {
    const { digest } = versions[OLD]!;
    const verify = ['--key', key.replace(/key$/, 'pub'), '--insecure-ignore-tlog', '--allow-http-registry'];
    const reference = `${images.address}/org/weir@${digest}`;
    expect(await output(COSIGN, ['verify', ...verify, reference])).toContain(digest);
    expect(await output(COSIGN, ['verify', ...verify, `${images.address}/org/charts/weir:${OLD}`])).toContain('docker-manifest-digest');
    for (const [type, content] of [
      ['cyclonedx', '"bomFormat":"CycloneDX"'],
      ['slsaprovenance1', `"gitCommit":"${COMMIT}"`],
    ] as const) {
      const { payload } = JSON.parse(
        (await output(COSIGN, ['verify-attestation', ...verify, '--type', type, reference])).split('\n')[0]!,
      ) as { payload: string };
      const statement = Buffer.from(payload, 'base64').toString();
      expect(statement).toContain(content);
      const { subject } = JSON.parse(statement) as { subject: { digest: { sha256: string } }[] };
      expect(subject[0]!.digest.sha256).toBe(digest.replace('sha256:', ''));
    }
    await expect(
      output(COSIGN, ['verify', '--key', await otherKey(), '--insecure-ignore-tlog', '--allow-http-registry', reference]),
    ).rejects.toThrow();
  },
  STEP_MS,
);

async function otherKey(): Promise<string> {
  await output(COSIGN, ['generate-key-pair', '--output-key-prefix', path.join(folder, 'other')]);
  return path.join(folder, 'other.pub');
}

/** A decision of a process that has installed the limiter from the registry. */
const DECIDE = `import { createLimiter } from '@weir-rls/limiter';
import { createRequire } from 'node:module';
const limiter = await createLimiter({ rules: { documents: [{ domain: 'd', descriptors: [{ key: 'k', rate_limit: { unit: 'day', requests_per_unit: 1 } }] }] }, store: 'embedded' });
const request = { domain: 'd', descriptors: [{ k: 'v' }] };
const codes = [];
for (let call = 0; call < 2; call += 1) codes.push((await limiter.check(request)).allowed);
console.log(JSON.stringify({ codes, version: createRequire(import.meta.url)('@weir-rls/limiter/package.json').version }));
await limiter.close();
`;

test(
  'npm installs the packages, upgrades them and goes back, and each decides',
  async () => {
    await succeed('publish', NEW);
    const project = path.join(folder, 'project');
    mkdirSync(project);
    writeFileSync(path.join(project, 'package.json'), '{ "private": true }');
    writeFileSync(path.join(project, 'decide.mjs'), DECIDE);
    for (const [wanted, version] of [
      [`@${OLD}`, OLD],
      ['', NEW],
      [`@${OLD}`, OLD],
    ] as const) {
      const names = PACKAGES.map((name) => `@weir-rls/${name}${wanted}`);
      await output('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...names], project);
      expect(JSON.parse(await output(process.execPath, ['decide.mjs'], project))).toEqual({ codes: [true, false], version });
      expect(await output(path.join(project, 'node_modules', '.bin', 'weir'), ['--version'], project)).toContain(version);
    }
  },
  STEP_MS,
);

test('Helm pulls the chart of each version, which starts the image of that version by its digest and links to its pages', async () => {
  for (const version of [OLD, NEW, OLD]) {
    const place = mkdtempSync(path.join(folder, 'chart-'));
    await output(HELM, ['pull', `oci://${images.address}/org/charts/weir`, '--version', version, '--plain-http', '--destination', place]);
    const example = ['--set', 'config.example=true', '--set', 'redis.demo.enabled=true', '--kube-version', '1.33.0'];
    const rendered = await output(HELM, ['template', 'weir', path.join(place, `weir-${version}.tgz`), ...example]);
    expect(rendered).toContain(`image: "${images.address}/org/weir@${versions[version]!.digest}"`);
    expect(rendered).toContain(`app.kubernetes.io/version: ${version}\n`);
    const readme = await output(HELM, ['show', 'readme', path.join(place, `weir-${version}.tgz`)]);
    expect(readme).toContain(`](${HOME.repository}/blob/v${version}/docs/kubernetes.md)`);
    expect(readme).not.toContain('](.');
    const { annotations } = parse(await output(HELM, ['show', 'chart', path.join(place, `weir-${version}.tgz`)])) as {
      annotations: object;
    };
    expect(annotations).toMatchObject({
      'artifacthub.io/prerelease': 'false',
      'artifacthub.io/images': `- name: weir\n  image: ${images.address}/org/weir@${versions[version]!.digest}\n`,
    });
  }
});

test(
  'the tags that move name the newest version, and the image of each version is pulled, starts as its user and decides',
  async () => {
    expect(await Promise.all([`weir:${OLD}`, 'weir:1.1', `weir:${NEW}`, 'weir:1.2', 'weir:1'].map(resolveTag))).toEqual(
      [OLD, OLD, NEW, NEW, NEW].map((version) => versions[version]!.digest),
    );
    for (const [tag, version] of [
      ['1', NEW],
      [OLD, OLD],
    ] as const) {
      const [layout, root] = [path.join(folder, `pulled-${tag}`), path.join(folder, `root-${tag}`)];
      await output(ORAS, [
        'cp',
        '--no-tty',
        '--from-plain-http',
        '--to-oci-layout',
        `${images.address}/org/weir:${tag}`,
        `${layout}:pulled`,
      ]);
      makeRoot(root);
      await unpackLayout(layout, root);
      expect(JSON.parse(readFileSync(path.join(root, 'app', 'package.json'), 'utf8'))).toMatchObject({ version });
      expect(await decidesIn(root)).toEqual(['200 OK', '429 OVER_LIMIT']);
    }
  },
  STEP_MS,
);

/** The example of the image allows three payments a minute. */
async function decidesIn(root: string): Promise<readonly string[]> {
  const driver = path.join(folder, 'inside.cjs');
  copyFileSync(path.join(ROOT, 'test', 'image', 'inside.cjs'), driver);
  const entries = [
    { key: 'path', value: '/payment' },
    { key: 'client', value: '10.0.0.7' },
  ];
  const input = {
    entrypoint: image.entrypoint,
    healthcheck: image.healthcheck,
    port: 8080,
    body: { domain: 'payments', descriptors: [{ entries }] },
    calls: 4,
  };
  const { exitCode, stdout, stderr } = await runInRoot(root, {
    command: ['/opt/node/node', '/dev/inside.cjs', JSON.stringify(input)],
    cwd: image.workdir,
    env: image.env,
    user: image.user,
    mounts: [{ from: driver, to: '/dev/inside.cjs' }],
    timeoutMs: STEP_MS,
  });
  if (exitCode !== 0) throw new Error(`the driver ended with ${exitCode}:\n${stdout}${stderr}`);
  const { codes } = JSON.parse(stdout) as { codes: readonly string[] };
  return [codes[0]!, codes.at(-1)!];
}

test(
  'a version that is published cannot be published with other content',
  async () => {
    const { copy, release } = versions[NEW]!;
    const other = path.join(folder, 'other-content');
    cpSync(release, other, { recursive: true });
    // The same files, compressed otherwise.
    const chart = path.join(other, 'chart', `weir-${NEW}.tgz`);
    await output('sh', ['-c', 'gunzip < "$0" | gzip -n1 > "$0.new" && mv "$0.new" "$0"', chart]);
    const record = JSON.parse(readFileSync(path.join(other, 'release.json'), 'utf8')) as { chart: object };
    const digest = `sha256:${(await output('sha256sum', [chart])).split(' ')[0]!}`;
    writeFileSync(path.join(other, 'release.json'), JSON.stringify({ ...record, chart: { ...record.chart, digest } }));
    const before = [...ofRelease()];
    const { exitCode, stderr } = await step(copy, 'publish', other);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringContaining(`${images.address}/org/charts/weir:${NEW} is published already, with other content`) as string,
    });
    expect(ofRelease()).toEqual(before);
  },
  STEP_MS,
);
