/** The size and links of configuration files are bounded, and the example is served only if no setting names a place. */

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ConfigError } from '../../../src/configuration/problems/config-error';
import { compileConfig } from '../../../src/configuration/compile/compile';
import {
  CONFIG_BYTES_MAX,
  CONFIG_FILE_BYTES_MAX,
  readConfigFiles,
  type ConfigSource,
} from '../../../src/configuration/source/files/config-files';
import { readSettings } from '../../../src/configuration/settings/table/settings';
import { chooseDefaultAlgorithm, chooseExample, choosePlace } from '../../../src/configuration/source/files/config-place';

let home: string;

beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'weir-source-'));
});

afterEach(() => {
  fs.rmSync(home, { recursive: true });
});

function write(name: string, text: string | Buffer): string {
  const full = path.join(home, name);
  fs.mkdirSync(path.dirname(full), { recursive: true });
  fs.writeFileSync(full, text);
  return full;
}

async function domainsOf(source: ConfigSource): Promise<string[]> {
  return [...compileConfig({ ...(await readConfigFiles(source)), defaultAlgorithm: 'fixed_window', generation: 1 }).domains.keys()];
}

async function problemsOf(source: ConfigSource): Promise<string[]> {
  try {
    await domainsOf(source);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n').map((line) => line.replaceAll(home, 'HOME'));
    throw error;
  }
  return [];
}

function fromPath(name = ''): ConfigSource {
  return { kind: 'path', path: name === '' ? home : path.join(home, name) };
}

describe('--config', () => {
  test('--config reads one file with any name', async () => {
    write('limits', 'domain: d\n');
    expect(await domainsOf(fromPath('limits'))).toEqual(['d']);
  });

  test('--config reads the YAML files directly in a directory, by name, without hidden and other ones', async () => {
    write('b.yml', 'domain: b\n');
    write('a.yaml', 'domain: a\n');
    write('.c.yaml', 'domain: c\n');
    write('sub/d.yaml', 'domain: d\n');
    write('notes.txt', 'not: [yaml');
    expect(await domainsOf(fromPath())).toEqual(['a', 'b']);
  });

  test('--config reports every unreadable or invalid file', async () => {
    write('a.yaml', Buffer.from([0xff, 0xfe]));
    write('b.yaml', 'domain: ""\n');
    fs.symlinkSync(path.join(home, 'nowhere'), path.join(home, 'c.yaml'));
    fs.closeSync(fs.openSync(path.join(home, 'd.yaml'), 'w'));
    fs.truncateSync(path.join(home, 'd.yaml'), CONFIG_FILE_BYTES_MAX + 1);
    expect(await problemsOf(fromPath())).toEqual([
      'HOME/a.yaml: is not UTF-8 text; save it as UTF-8',
      'HOME/c.yaml: does not exist; make it readable or remove it',
      `HOME/d.yaml: is longer than ${CONFIG_FILE_BYTES_MAX} bytes; split its domains over files`,
      'HOME/b.yaml:1:9: domain: must not be empty',
    ]);
  });

  test('--config reads no more of an endless file than of any other', async () => {
    expect(await problemsOf({ kind: 'path', path: '/dev/zero' })).toEqual([
      `/dev/zero: is longer than ${CONFIG_FILE_BYTES_MAX} bytes; split its domains over files`,
    ]);
  });

  test('--config reads a file of the maximum size, and bounds the total of many', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) write(`${name}.yaml`, `domain: ${name}\n#`.padEnd(CONFIG_FILE_BYTES_MAX, '-'));
    const { files, problems } = await readConfigFiles(fromPath());
    expect(files.map(({ name, text }) => [path.basename(name), text.length])).toEqual(
      ['a', 'b', 'c', 'd'].map((name) => [`${name}.yaml`, CONFIG_FILE_BYTES_MAX]),
    );
    expect(problems).toMatchObject([
      {
        file: path.join(home, 'e.yaml'),
        message: `takes the files over ${CONFIG_BYTES_MAX} bytes in total, so it and later files are not read; use shorter ones`,
      },
    ]);
  });

  test('--config rejects an empty directory and a missing one', async () => {
    expect(await problemsOf(fromPath())).toEqual(['HOME: holds no .yaml or .yml file; put one there, or name a file']);
    expect(await problemsOf(fromPath('x'))).toEqual(['HOME/x: does not exist; name a YAML file or a directory of YAML files']);
  });
});

describe('RUNTIME_*', () => {
  const runtime = (): ConfigSource => ({ kind: 'runtime', directory: path.join(home, 'config') });

  test('RUNTIME_* reads all YAML files below the directory, by path, and each of a ConfigMap once', async () => {
    write('config/z.yaml', 'domain: z\n');
    write('config/team/a.yaml', 'domain: a\n');
    write('config/..2026_01_01/m.yaml', 'domain: m\n');
    fs.symlinkSync('..2026_01_01', path.join(home, 'config/..data'));
    fs.symlinkSync('..data/m.yaml', path.join(home, 'config/m.yaml'));
    expect(await domainsOf(runtime())).toEqual(['m', 'a', 'z']);
  });

  test('RUNTIME_* reads an empty directory as an empty configuration, but not one with only other files', async () => {
    fs.mkdirSync(path.join(home, 'config'));
    expect(await domainsOf(runtime())).toEqual([]);
    write('config/limits', 'domain: d\n');
    expect(await problemsOf(runtime())).toEqual([
      'HOME/config: holds no .yaml or .yml file, but limits; rename what is configuration to end in .yaml',
    ]);
  });

  test('RUNTIME_* reports a missing directory', async () => {
    expect(await problemsOf(runtime())).toEqual([expect.stringMatching(/^HOME\/config: does not exist; set RUNTIME_ROOT/)]);
  });

  test('RUNTIME_* does not wait for a pipe among the files', async () => {
    write('config/a.yaml', 'domain: a\n');
    execFileSync('mkfifo', [path.join(home, 'config/pipe.yaml')]);
    expect(await problemsOf(runtime())).toEqual(['HOME/config/pipe.yaml: is not a regular file; remove it']);
  });

  test('RUNTIME_* reads the target of symlinks to a parent once, however many there are', async () => {
    write('config/a.yaml', 'domain: a\n');
    write('config/team/b.yaml', 'domain: b\n');
    for (const name of ['x', 'y', 'z']) fs.symlinkSync('.', path.join(home, 'config', name));
    fs.symlinkSync('..', path.join(home, 'config/team/up'));
    expect(await domainsOf(runtime())).toEqual(['a', 'b']);
  });

  test('RUNTIME_* rejects symlinks that multiply without end, though none points to a parent', async () => {
    write('config/0/a.yaml', 'domain: a\n');
    for (let level = 1; level <= 12; level += 1) {
      fs.mkdirSync(path.join(home, `config/${level}`));
      for (const name of ['x', 'y', 'z']) fs.symlinkSync(`../${level - 1}`, path.join(home, `config/${level}/${name}`));
    }
    expect(await problemsOf(runtime())).toEqual([
      'HOME/config: holds over 65536 files and directories, counting what symlinks lead to each time; remove files that are not configuration',
    ]);
  });

  test('RUNTIME_* names a symlink to itself, and ignores it if it is not one of the files', async () => {
    write('config/a.yaml', 'domain: a\n');
    fs.symlinkSync('readme', path.join(home, 'config/readme'));
    expect(await domainsOf(runtime())).toEqual(['a']);
    fs.symlinkSync('b.yaml', path.join(home, 'config/b.yaml'));
    expect(await problemsOf(runtime())).toEqual(["HOME/config/b.yaml: can't be read (ELOOP); make it readable or remove it"]);
  });

  test('RUNTIME_* names the nested directory that it cannot read', async () => {
    write('config/a.yaml', 'domain: a\n');
    fs.mkdirSync(path.join(home, 'config/locked'), { mode: 0 });
    fs.chmodSync(home, 0o755);
    // Nothing is closed to root.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    const problems = await problemsOf(runtime()).finally(() => {
      if (isRoot) process.seteuid?.(0);
    });
    expect(problems).toEqual(["HOME/config/locked: can't be read (EACCES); make it readable or remove it"]);
  });
});

describe('The source and its algorithm', () => {
  const settings = readSettings({ RUNTIME_ROOT: '/r', RUNTIME_SUBDIRECTORY: 's' });
  const runtime = choosePlace({ settings });

  test('the source is RUNTIME_* with fixed_window, unless --config is given', () => {
    expect(runtime).toEqual({ kind: 'runtime', directory: '/r/s/config', swappedRoot: '/r' });
    expect(choosePlace({ settings: readSettings({}) })).toEqual({
      kind: 'runtime',
      directory: '/srv/runtime_data/current/config',
      swappedRoot: '/srv/runtime_data/current',
    });
    expect(choosePlace({ settings: readSettings({ RUNTIME_ROOT: '/r', RUNTIME_WATCH_ROOT: 'false' }) })).toEqual({
      kind: 'runtime',
      directory: '/r/config',
    });
    expect(chooseDefaultAlgorithm({ source: runtime, settings }).algorithm).toBe('fixed_window');
    const source = choosePlace({ settings, configPath: 'c.yaml' });
    expect(source).toEqual({ kind: 'path', path: 'c.yaml' });
    expect(chooseDefaultAlgorithm({ source, settings }).algorithm).toBe('token_bucket');
  });

  test('CONFIG_TYPE=GRPC_XDS_SOTW selects a management server with fixed_window, but --config wins', () => {
    const overXds = readSettings({ RUNTIME_ROOT: '/r', CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: 'gateway:18001' });
    const source = choosePlace({ settings: overXds });
    expect(source).toEqual({ kind: 'xds', server: 'gateway:18001' });
    expect(chooseDefaultAlgorithm({ source, settings: overXds })).toMatchObject({
      algorithm: 'fixed_window',
      reason: expect.stringContaining('gateway:18001') as unknown,
    });
    expect(choosePlace({ settings: overXds, configPath: 'c.yaml' })).toEqual({ kind: 'path', path: 'c.yaml' });
  });

  test('DEFAULT_ALGORITHM wins, and the reason says so', () => {
    const own = readSettings({ DEFAULT_ALGORITHM: 'token_bucket' });
    expect(chooseDefaultAlgorithm({ source: runtime, settings: own })).toEqual({
      algorithm: 'token_bucket',
      reason: 'limits use token_bucket by default: DEFAULT_ALGORITHM is set',
    });
  });
});

describe('The example', () => {
  const [missing, example] = ['/srv/weir-has-no-such-folder', path.resolve('deploy', 'example')];

  test('is served if nothing says where the configuration is', () => {
    expect(chooseExample({ env: { REDIS_URL: 'redis:6379', RUNTIME_ROOT: '' }, example, runtimeRoot: missing })).toEqual({
      kind: 'path',
      path: example,
    });
  });

  test.each(['CONFIG_TYPE', 'RUNTIME_ROOT', 'RUNTIME_SUBDIRECTORY', 'RUNTIME_APPDIRECTORY'])('is not served with %s', (name) => {
    expect(chooseExample({ env: { [name]: 'x' }, example, runtimeRoot: missing })).toBeUndefined();
  });

  test("is not served if the reference's default folder or no example is there", () => {
    expect(chooseExample({ env: {}, example, runtimeRoot: example })).toBeUndefined();
    expect(chooseExample({ env: {}, example: missing, runtimeRoot: missing })).toBeUndefined();
  });
});
