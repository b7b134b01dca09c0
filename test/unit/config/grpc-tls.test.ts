/** The certificates of the gRPC port as files: what stops the start, and what a change of them does while Weir runs. */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { GrpcTlsFiles, readGrpcTls, type GrpcTlsMaterial } from '../../../src/config/grpc-tls';
import { readSettings } from '../../../src/config/settings';
import { SettingsError } from '../../../src/config/settings-error';
import { makeCertificates, type Pair } from '../../support/certificates';

const certificates = makeCertificates();
const { server, renewed, ca, otherCa } = certificates;

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readGrpcTls(readSettings(env));
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map(({ name, message }) => `${name}: ${message}`);
    throw error;
  }
  return [];
}

const TLS = { GRPC_SERVER_USE_TLS: 'true', GRPC_SERVER_TLS_CERT: server.cert, GRPC_SERVER_TLS_KEY: server.key };

describe('at the start', () => {
  test('no TLS, TLS, and TLS with clients that are verified', () => {
    expect(readGrpcTls(readSettings({}))).toBeUndefined();
    expect(readGrpcTls(readSettings(TLS))?.material).toEqual({ cert: readFileSync(server.cert, 'utf8'), key: readFileSync(server.key, 'utf8') });
    const files = readGrpcTls(readSettings({ ...TLS, GRPC_CLIENT_TLS_CACERT: ca.cert, GRPC_CLIENT_TLS_SAN: 'envoy.weir.test' }));
    expect(files?.material.clientCa).toBe(readFileSync(ca.cert, 'utf8'));
    // openssl made them for two days.
    expect(files!.expiresAtS - Date.now() / 1000).toBeGreaterThan(86_400);
  });

  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    ['certificates without TLS', { ...TLS, GRPC_SERVER_USE_TLS: 'false', GRPC_CLIENT_TLS_CACERT: ca.cert, GRPC_CLIENT_TLS_SAN: 'a.b' }, ['GRPC_SERVER_TLS_CERT', 'GRPC_SERVER_TLS_KEY', 'GRPC_CLIENT_TLS_CACERT', 'GRPC_CLIENT_TLS_SAN'].map((name) => `${name}: it is set, but TLS is off; set GRPC_SERVER_USE_TLS=true, or leave it unset`)],
    ['TLS without certificates', { GRPC_SERVER_USE_TLS: 'true' }, ['GRPC_SERVER_TLS_CERT', 'GRPC_SERVER_TLS_KEY'].map((name) => `${name}: it is not set, but GRPC_SERVER_USE_TLS is true; name a PEM file`)],
    ['a name without an authority', { ...TLS, GRPC_CLIENT_TLS_SAN: 'a.b' }, [expect.stringMatching(/^GRPC_CLIENT_TLS_SAN: it is set, but GRPC_CLIENT_TLS_CACERT is not/) as string]],
    ['files that are not there', { ...TLS, GRPC_SERVER_TLS_CERT: '/no/cert', GRPC_CLIENT_TLS_CACERT: '/no/ca' }, ["GRPC_SERVER_TLS_CERT: /no/cert can't be read (ENOENT); name a PEM file", "GRPC_CLIENT_TLS_CACERT: /no/ca can't be read (ENOENT); name a PEM file"]],
    ['the two taken for each other', { ...TLS, GRPC_SERVER_TLS_CERT: server.key, GRPC_SERVER_TLS_KEY: server.cert }, [`GRPC_SERVER_TLS_CERT: ${server.key} holds no certificate; name a PEM file with one`, `GRPC_SERVER_TLS_KEY: ${server.cert} holds no private key without a passphrase; name a PEM file with one`]],
    ['the key of another', { ...TLS, GRPC_SERVER_TLS_KEY: renewed.key }, ['GRPC_SERVER_TLS_KEY: it is not the key of the certificate in GRPC_SERVER_TLS_CERT; name the two that belong together']],
  ])('%s', (_what, env, problems) => {
    expect(problemsOf(env)).toEqual(problems);
  });

  test('a key that OpenSSL refuses', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'weir-short-key-'));
    const [cert, key] = [path.join(folder, 'c.crt'), path.join(folder, 'c.key')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:768', '-nodes', '-keyout', key, '-out', cert, '-subj', '/CN=short', '-days', '2'], { stdio: 'pipe' });
    expect(problemsOf({ ...TLS, GRPC_SERVER_TLS_CERT: cert, GRPC_SERVER_TLS_KEY: key })).toEqual([expect.stringMatching(/^GRPC_SERVER_TLS_CERT: OpenSSL refuses it \(.*key too small.*\); make another$/)]);
  });

  test.each(['*.weir.test', 'a..b', 'spiffe://weir/envoy', '-a', 'a b'])('%j is no DNS name', (san) => {
    expect(() => readSettings({ GRPC_CLIENT_TLS_SAN: san })).toThrow('GRPC_CLIENT_TLS_SAN: ');
  });
});

describe('while it runs', () => {
  let folder: string;
  let files: GrpcTlsFiles;
  let changes: GrpcTlsMaterial[];
  let told: string[];
  const reread = () => files.reread({ onChange: (material) => changes.push(material), onProblem: (sentence) => told.push(sentence) });
  const put = (pair: Pair) => {
    copyFileSync(pair.cert, path.join(folder, 'tls.crt'));
    copyFileSync(pair.key, path.join(folder, 'tls.key'));
  };

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'weir-tls-'));
    put(server);
    copyFileSync(ca.cert, path.join(folder, 'ca.crt'));
    files = new GrpcTlsFiles({ cert: path.join(folder, 'tls.crt'), key: path.join(folder, 'tls.key'), clientCa: path.join(folder, 'ca.crt') });
    changes = [];
    told = [];
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  test('nothing is said of files that stay', async () => {
    for (let n = 0; n < 3; n++) await reread();
    expect([changes, told]).toEqual([[], []]);
  });

  test('a new pair and a new authority are taken, each once', async () => {
    put(renewed);
    await reread();
    await reread();
    copyFileSync(otherCa.cert, path.join(folder, 'ca.crt'));
    await reread();
    expect(changes.map(({ cert, clientCa }) => [cert, clientCa])).toEqual([
      [readFileSync(renewed.cert, 'utf8'), readFileSync(ca.cert, 'utf8')],
      [readFileSync(renewed.cert, 'utf8'), readFileSync(otherCa.cert, 'utf8')],
    ]);
    expect(files.material).toEqual(changes[1]);
    expect(told).toEqual([]);
  });

  test('files that are being replaced one by one are no problem', async () => {
    copyFileSync(renewed.cert, path.join(folder, 'tls.crt'));
    await reread();
    put(renewed);
    await reread();
    expect([changes.length, told]).toEqual([1, []]);
  });

  test.each<[string, () => void, RegExp]>([
    ['half of it', () => { copyFileSync(renewed.cert, path.join(folder, 'tls.crt')); }, /^GRPC_SERVER_TLS_KEY: it is not the key of the certificate/],
    ['no text of a certificate', () => { writeFileSync(path.join(folder, 'tls.crt'), 'x'); }, /^GRPC_SERVER_TLS_CERT: .*tls\.crt holds no certificate/],
    ['an empty file', () => { writeFileSync(path.join(folder, 'tls.key'), ''); }, /^GRPC_SERVER_TLS_KEY: .*tls\.key holds no private key/],
    ['no file', () => { rmSync(path.join(folder, 'ca.crt')); }, /^GRPC_CLIENT_TLS_CACERT: .*ca\.crt can't be read \(ENOENT\)/],
  ])('what is bad (%s) leaves the last good one, and is told once; good again is taken', async (_what, spoil, sentence) => {
    spoil();
    for (let n = 0; n < 4; n++) await reread();
    expect(told).toEqual([expect.stringMatching(sentence)]);
    expect([changes, files.material.cert]).toEqual([[], readFileSync(server.cert, 'utf8')]);
    put(renewed);
    copyFileSync(ca.cert, path.join(folder, 'ca.crt'));
    await reread();
    expect(changes).toHaveLength(1);
    spoil();
    for (let n = 0; n < 3; n++) await reread();
    // Of `half of it` nothing is left to be spoilt.
    expect(told.length).toBe(_what === 'half of it' ? 1 : 2);
  });

  test('a folder as Kubernetes mounts it: ..data is another link all at once', async () => {
    const mounted = path.join(folder, 'mounted');
    const fill = (name: string, pair: Pair) => {
      mkdirSync(path.join(mounted, name), { recursive: true });
      copyFileSync(pair.cert, path.join(mounted, name, 'tls.crt'));
      copyFileSync(pair.key, path.join(mounted, name, 'tls.key'));
    };
    fill('..1', server);
    symlinkSync('..1', path.join(mounted, '..data'));
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(path.join('..data', name), path.join(mounted, name));
    files = new GrpcTlsFiles({ cert: path.join(mounted, 'tls.crt'), key: path.join(mounted, 'tls.key'), clientCa: undefined });
    fill('..2', renewed);
    symlinkSync('..2', path.join(mounted, '..new'));
    renameSync(path.join(mounted, '..new'), path.join(mounted, '..data'));
    rmSync(path.join(mounted, '..1'), { recursive: true });
    await reread();
    expect(changes.map(({ cert }) => cert)).toEqual([readFileSync(renewed.cert, 'utf8')]);
    expect(told).toEqual([]);
  });

  test('no file stays open, however often they change', async () => {
    const open = () => readdirSync('/proc/self/fd').length;
    await reread();
    const before = open();
    for (let n = 0; n < 100; n++) {
      put(n % 2 === 0 ? renewed : server);
      await reread();
    }
    expect(changes).toHaveLength(100);
    expect(open()).toBeLessThanOrEqual(before);
  });
});
