/** TLS of the gRPC port: its files, read and checked at the start, and again whenever they may have changed. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { refuseIdleTls } from './idle-tls';
import type { Settings } from './settings';
import { SettingsError, type SettingProblem } from './settings-error';

export type GrpcTlsSettings = Pick<Settings, 'grpcServerUseTls' | 'grpcServerTlsCert' | 'grpcServerTlsKey' | 'grpcClientTlsCacert' | 'grpcClientTlsSan'>;

/** PEM text. */
export interface GrpcTlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** Who may have signed clients' certificates. */
  readonly clientCa?: string;
}

/** Undefined: no TLS. Throws SettingsError with everything that is wrong. */
export function readGrpcTls(settings: GrpcTlsSettings): GrpcTlsFiles | undefined {
  if (!settings.grpcServerUseTls) {
    refuseWithoutTls(settings);
    return undefined;
  }
  const { grpcServerTlsCert: cert, grpcServerTlsKey: key, grpcClientTlsCacert: clientCa, grpcClientTlsSan: clientSan } = settings;
  const problems: SettingProblem[] = [];
  if (cert === undefined) problems.push({ name: 'GRPC_SERVER_TLS_CERT', message: 'it is not set, but GRPC_SERVER_USE_TLS is true; name a PEM file' });
  if (key === undefined) problems.push({ name: 'GRPC_SERVER_TLS_KEY', message: 'it is not set, but GRPC_SERVER_USE_TLS is true; name a PEM file' });
  if (clientSan !== undefined && clientCa === undefined) {
    problems.push({ name: 'GRPC_CLIENT_TLS_SAN', message: "it is set, but GRPC_CLIENT_TLS_CACERT is not, so that no client's certificate is verified; set both or neither" });
  }
  if (cert === undefined || key === undefined || problems.length > 0) throw new SettingsError(problems);
  return new GrpcTlsFiles({ cert, key, clientCa });
}

function refuseWithoutTls(settings: GrpcTlsSettings): void {
  refuseIdleTls({
    turnedOnBy: 'GRPC_SERVER_USE_TLS',
    idle: {
      GRPC_SERVER_TLS_CERT: settings.grpcServerTlsCert,
      GRPC_SERVER_TLS_KEY: settings.grpcServerTlsKey,
      GRPC_CLIENT_TLS_CACERT: settings.grpcClientTlsCacert,
      GRPC_CLIENT_TLS_SAN: settings.grpcClientTlsSan,
    },
  });
}

interface Paths {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | undefined;
}

/** A file's text, or why it could not be read. */
type Content = { readonly text: string } | { readonly fault: string };
type Contents = readonly Content[];

export interface GrpcTlsEvents {
  readonly onChange: (material: GrpcTlsMaterial) => void;
  /** Told once of each state of the files that can't be used; the last good one stays in use. */
  readonly onProblem: (sentence: string) => void;
}

export class GrpcTlsFiles {
  /** The last that could be used. */
  material: GrpcTlsMaterial;
  private readonly names: readonly (readonly [name: string, path: string])[];
  private used: string;
  private seen: string;
  private told: string | undefined;
  private isReading = false;

  /** Throws SettingsError: at the start there is nothing else to go by. */
  constructor({ cert, key, clientCa }: Paths) {
    this.names = [['GRPC_SERVER_TLS_CERT', cert], ['GRPC_SERVER_TLS_KEY', key], ...(clientCa === undefined ? [] : [['GRPC_CLIENT_TLS_CACERT', clientCa] as const])];
    const contents = this.names.map(([, path]) => readNow(path));
    const { material, problems } = this.check(contents);
    if (material === undefined) throw new SettingsError(problems);
    this.material = material;
    this.used = this.seen = stateOf(contents);
  }

  /** When the certificate in use runs out, in seconds of Unix time. */
  get expiresAtS(): number {
    return Date.parse(new X509Certificate(this.material.cert).validTo) / 1000;
  }

  /**
   * Reads the files again: as text, so that it does not matter how they are replaced. Files that do not belong together
   * may be on their way to be, and count as a problem only when they are found so twice.
   */
  async reread(events: GrpcTlsEvents): Promise<void> {
    // A file system may take its time.
    if (this.isReading) return;
    this.isReading = true;
    const contents = await Promise.all(this.names.map(([, path]) => read(path)));
    this.isReading = false;
    this.compare(contents, events);
  }

  private compare(contents: Contents, { onChange, onProblem }: GrpcTlsEvents): void {
    const state = stateOf(contents);
    const isSettled = state === this.seen;
    this.seen = state;
    if (state === this.used) {
      this.told = undefined;
      return;
    }
    if (state === this.told) return;
    const { material, problems } = this.check(contents);
    if (material !== undefined) {
      this.used = state;
      this.told = undefined;
      this.material = material;
      onChange(material);
    } else if (isSettled) {
      this.told = state;
      onProblem(problems.map(({ name, message }) => `${name}: ${message}`).join('; '));
    }
  }

  private check(contents: Contents): { readonly material?: GrpcTlsMaterial; readonly problems: readonly SettingProblem[] } {
    const problems = this.names.flatMap(([name, path], index) => problemOf({ name, path, content: contents[index] ?? { text: '' } }));
    if (problems.length > 0) return { problems };
    const [cert = '', key = '', clientCa] = contents.map((content) => ('text' in content ? content.text : ''));
    const material = { cert, key, ...(clientCa !== undefined && { clientCa }) };
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
      return { problems: [{ name: 'GRPC_SERVER_TLS_KEY', message: 'it is not the key of the certificate in GRPC_SERVER_TLS_CERT; name the two that belong together' }] };
    }
    // What only a use of them shows, as a key that is too short for OpenSSL.
    const fault = faultOf(() => createSecureContext({ cert, key, ca: clientCa }));
    return fault === undefined ? { material, problems } : { problems: [{ name: 'GRPC_SERVER_TLS_CERT', message: `OpenSSL refuses it (${fault}); make another` }] };
  }
}

function problemOf({ name, path, content }: { readonly name: string; readonly path: string; readonly content: Content }): SettingProblem[] {
  if ('fault' in content) return [{ name, message: `${path} can't be read (${content.fault}); name a PEM file` }];
  const isKey = name === 'GRPC_SERVER_TLS_KEY';
  if (faultOf(() => (isKey ? createPrivateKey(content.text) : new X509Certificate(content.text))) === undefined) return [];
  return [{ name, message: `${path} holds no ${isKey ? 'private key without a passphrase' : 'certificate'}; name a PEM file with one` }];
}

function stateOf(contents: Contents): string {
  return JSON.stringify(contents);
}

function readNow(path: string): Content {
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    return { fault: describe(error) };
  }
}

async function read(path: string): Promise<Content> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { fault: describe(error) };
  }
}

/** Undefined: it works. */
function faultOf(use: () => unknown): string | undefined {
  try {
    use();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function describe(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
