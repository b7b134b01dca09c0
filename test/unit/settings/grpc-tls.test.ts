/** Invalid certificates leave the last good ones in use, and are logged once. */

import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readGrpcTls } from '../../../src/configuration/settings/tls/grpc-tls';
import { ServerTlsFiles, type ServerTlsMaterial } from '../../../src/configuration/settings/tls/server-tls-files';
import { readSettings } from '../../../src/configuration/settings/table/settings';
import { SettingsError } from '../../../src/configuration/settings/table/settings-error';
import { makeCertificates, type Pair } from '../../support/servers/certificates';

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
  test('the port has no TLS, TLS, or TLS with client certificates', () => {
    expect(readGrpcTls(readSettings({}))).toBeUndefined();
    expect(readGrpcTls(readSettings(TLS))?.material).toEqual({
      cert: readFileSync(server.cert, 'utf8'),
      key: readFileSync(server.key, 'utf8'),
    });
    const files = readGrpcTls(readSettings({ ...TLS, GRPC_CLIENT_TLS_CACERT: ca.cert, GRPC_CLIENT_TLS_SAN: 'envoy.weir.test' }));
    expect(files?.material.clientCa).toBe(readFileSync(ca.cert, 'utf8'));
    // openssl made them for two days.
    expect(files!.expiresAtS - Date.now() / 1000).toBeGreaterThan(86_400);
  });

  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    [
      'certificates without TLS',
      { ...TLS, GRPC_SERVER_USE_TLS: 'false', GRPC_CLIENT_TLS_CACERT: ca.cert, GRPC_CLIENT_TLS_SAN: 'a.b' },
      ['GRPC_SERVER_TLS_CERT', 'GRPC_SERVER_TLS_KEY', 'GRPC_CLIENT_TLS_CACERT', 'GRPC_CLIENT_TLS_SAN'].map(
        (name) => `${name}: it is set, but TLS is off; set GRPC_SERVER_USE_TLS=true, or leave it unset`,
      ),
    ],
    [
      'TLS without certificates',
      { GRPC_SERVER_USE_TLS: 'true' },
      ['GRPC_SERVER_TLS_CERT', 'GRPC_SERVER_TLS_KEY'].map(
        (name) => `${name}: it is not set, but GRPC_SERVER_USE_TLS is true; name a PEM file`,
      ),
    ],
    [
      'a name without an authority',
      { ...TLS, GRPC_CLIENT_TLS_SAN: 'a.b' },
      [expect.stringMatching(/^GRPC_CLIENT_TLS_SAN: it is set, but GRPC_CLIENT_TLS_CACERT is not/) as string],
    ],
    [
      'files that are not there',
      { ...TLS, GRPC_SERVER_TLS_CERT: '/no/cert', GRPC_CLIENT_TLS_CACERT: '/no/ca' },
      [
        "GRPC_SERVER_TLS_CERT: /no/cert can't be read (ENOENT); name a PEM file",
        "GRPC_CLIENT_TLS_CACERT: /no/ca can't be read (ENOENT); name a PEM file",
      ],
    ],
    [
      'certificate and key swapped',
      { ...TLS, GRPC_SERVER_TLS_CERT: server.key, GRPC_SERVER_TLS_KEY: server.cert },
      [
        `GRPC_SERVER_TLS_CERT: ${server.key} holds no certificate; name a PEM file with one`,
        `GRPC_SERVER_TLS_KEY: ${server.cert} holds no private key without a passphrase; name a PEM file with one`,
      ],
    ],
    [
      'the key of another',
      { ...TLS, GRPC_SERVER_TLS_KEY: renewed.key },
      ['GRPC_SERVER_TLS_KEY: it is not the key of the certificate in GRPC_SERVER_TLS_CERT; name a matching pair'],
    ],
  ])('an invalid TLS setting stops the start: %s', (_what, env, problems) => {
    expect(problemsOf(env)).toEqual(problems);
  });

  test('a key that OpenSSL rejects stops the start', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'weir-short-key-'));
    const [cert, key] = [path.join(folder, 'c.crt'), path.join(folder, 'c.key')];
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:768', '-nodes', '-keyout', key, '-out', cert, '-subj', '/CN=short', '-days', '2'],
      { stdio: 'pipe' },
    );
    expect(problemsOf({ ...TLS, GRPC_SERVER_TLS_CERT: cert, GRPC_SERVER_TLS_KEY: key })).toEqual([
      expect.stringMatching(/^GRPC_SERVER_TLS_CERT: OpenSSL rejects it \(.*key too small.*\); create another one$/),
    ]);
  });

  test.each(['*.weir.test', 'a..b', 'spiffe://weir/envoy', '-a', 'a b'])('%j is not a DNS name', (san) => {
    expect(() => readSettings({ GRPC_CLIENT_TLS_SAN: san })).toThrow('GRPC_CLIENT_TLS_SAN: ');
  });
});

describe('while it runs', () => {
  let folder: string;
  let files: ServerTlsFiles;
  let changes: ServerTlsMaterial[];
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
    files = new ServerTlsFiles({
      cert: { setting: 'GRPC_SERVER_TLS_CERT', path: path.join(folder, 'tls.crt') },
      key: { setting: 'GRPC_SERVER_TLS_KEY', path: path.join(folder, 'tls.key') },
      clientCa: { setting: 'GRPC_CLIENT_TLS_CACERT', path: path.join(folder, 'ca.crt') },
    });
    changes = [];
    told = [];
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  test('unchanged files are not reported', async () => {
    for (let n = 0; n < 3; n++) await reread();
    expect([changes, told]).toEqual([[], []]);
  });

  describe('the time of a certificate', () => {
    let nowMs: number;
    const startAt = (ms: number) => {
      nowMs = ms;
      files = new ServerTlsFiles(
        {
          cert: { setting: 'GRPC_SERVER_TLS_CERT', path: path.join(folder, 'tls.crt') },
          key: { setting: 'GRPC_SERVER_TLS_KEY', path: path.join(folder, 'tls.key') },
        },
        () => nowMs,
      );
    };
    const of = ({ cert }: Pair) => new X509Certificate(readFileSync(cert));
    const [fromMs, toMs] = [Date.parse(of(server).validFrom), Date.parse(of(server).validTo)];
    const longer = makeCertificates({ days: 9 }).server;

    test('an expired certificate never replaces one that is valid', async () => {
      put(longer);
      startAt(toMs);
      put(server);
      for (let n = 0; n < 3; n++) await reread();
      const at = new Date(toMs).toISOString();
      expect(told).toEqual([`GRPC_SERVER_TLS_CERT: the certificate in ${path.join(folder, 'tls.crt')} expired at ${at}; name a valid one`]);
      expect([changes, files.material.cert]).toEqual([[], readFileSync(longer.cert, 'utf8')]);
      put(longer);
      await reread();
      // The same fault again is another one.
      put(server);
      for (let n = 0; n < 3; n++) await reread();
      expect([told.length, changes]).toEqual([2, []]);
    });

    test('a certificate that is not valid yet is taken when it is', async () => {
      let later: Pair;
      do later = makeCertificates().server;
      while (Date.parse(of(later).validFrom) === fromMs);
      startAt(fromMs);
      put(later);
      for (let n = 0; n < 3; n++) await reread();
      expect([told, changes]).toEqual([[expect.stringContaining('is not valid before')], []]);
      nowMs = Date.parse(of(later).validFrom);
      await reread();
      expect([told.length, changes.map(({ cert }) => cert)]).toEqual([1, [readFileSync(later.cert, 'utf8')]]);
    });

    test('where the one in use has ended too, the new one is taken', async () => {
      startAt(toMs);
      put(renewed);
      await reread();
      expect([told, changes.length]).toEqual([[], 1]);
    });
  });

  test('a new pair and a new authority are loaded, each once', async () => {
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

  test('files that are replaced one by one are not a problem', async () => {
    copyFileSync(renewed.cert, path.join(folder, 'tls.crt'));
    await reread();
    put(renewed);
    await reread();
    expect([changes.length, told]).toEqual([1, []]);
  });

  test.each<[string, () => void, RegExp]>([
    [
      'half of it',
      () => {
        copyFileSync(renewed.cert, path.join(folder, 'tls.crt'));
      },
      /^GRPC_SERVER_TLS_KEY: it is not the key of the certificate/,
    ],
    [
      'text without a certificate',
      () => {
        writeFileSync(path.join(folder, 'tls.crt'), 'x');
      },
      /^GRPC_SERVER_TLS_CERT: .*tls\.crt holds no certificate/,
    ],
    [
      'an empty file',
      () => {
        writeFileSync(path.join(folder, 'tls.key'), '');
      },
      /^GRPC_SERVER_TLS_KEY: .*tls\.key holds no private key/,
    ],
    [
      'no file',
      () => {
        rmSync(path.join(folder, 'ca.crt'));
      },
      /^GRPC_CLIENT_TLS_CACERT: .*ca\.crt can't be read \(ENOENT\)/,
    ],
  ])('an invalid file (%s) leaves the last good one, is logged once, and loads when it is good again', async (_what, spoil, sentence) => {
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

  test('a Kubernetes mount, whose ..data link is swapped, loads all files at once', async () => {
    const mounted = path.join(folder, 'mounted');
    const fill = (name: string, pair: Pair) => {
      mkdirSync(path.join(mounted, name), { recursive: true });
      copyFileSync(pair.cert, path.join(mounted, name, 'tls.crt'));
      copyFileSync(pair.key, path.join(mounted, name, 'tls.key'));
    };
    fill('..1', server);
    symlinkSync('..1', path.join(mounted, '..data'));
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(path.join('..data', name), path.join(mounted, name));
    files = new ServerTlsFiles({
      cert: { setting: 'GRPC_SERVER_TLS_CERT', path: path.join(mounted, 'tls.crt') },
      key: { setting: 'GRPC_SERVER_TLS_KEY', path: path.join(mounted, 'tls.key') },
    });
    fill('..2', renewed);
    symlinkSync('..2', path.join(mounted, '..new'));
    renameSync(path.join(mounted, '..new'), path.join(mounted, '..data'));
    rmSync(path.join(mounted, '..1'), { recursive: true });
    await reread();
    expect(changes.map(({ cert }) => cert)).toEqual([readFileSync(renewed.cert, 'utf8')]);
    expect(told).toEqual([]);
  });

  test('no file stays open, however often the files change', async () => {
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
