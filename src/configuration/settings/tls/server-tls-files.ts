/** The certificate files of a port: reads and checks them at the start, and again whenever they may have changed. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { SettingsError, type SettingProblem } from '../table/settings-error';

/** PEM text. */
export interface ServerTlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** CA bundle that verifies client certificates. */
  readonly clientCa?: string;
}

/** A PEM file, and the setting that names it. */
interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

export interface ServerTlsPaths {
  readonly cert: NamedFile;
  readonly key: NamedFile;
  readonly clientCa?: NamedFile;
}

/** Index of the private key among the files. */
const KEY = 1;

/** A file's text, or why it is unreadable. */
type Content = { readonly text: string } | { readonly fault: string };
type Contents = readonly Content[];

export interface ServerTlsEvents {
  readonly onChange: (material: ServerTlsMaterial) => void;
  /** Called once for each unusable state of the files; the last good one stays in use. */
  readonly onProblem: (sentence: string) => void;
}

export class ServerTlsFiles {
  /** The last usable certificates. */
  material: ServerTlsMaterial;
  private readonly files: readonly NamedFile[];
  private used: string;
  private seen: string;
  private reportedState: string | undefined;
  /** When a reported state may have become usable by itself, in milliseconds of Unix time. */
  private checkAgainMs = Infinity;
  private isReading = false;

  /** Throws SettingsError: the start has no earlier certificates to keep. `nowMs`: in milliseconds of Unix time. */
  constructor(
    { cert, key, clientCa }: ServerTlsPaths,
    private readonly nowMs: () => number = Date.now,
  ) {
    this.files = [cert, key, ...(clientCa === undefined ? [] : [clientCa])];
    const contents = this.files.map(({ path }) => readNow(path));
    const { material, problems } = this.check(contents);
    if (material === undefined) throw new SettingsError(problems);
    this.material = material;
    this.used = this.seen = stateOf(contents);
  }

  /** When the certificate in use expires, in seconds of Unix time. */
  get expiresAtS(): number {
    return validityOf(this.material.cert).toMs / 1000;
  }

  /**
   * Reads the files again: as text, so that it does not matter how they are replaced. A certificate and a key that do not
   * match may be halfway replaced, so they count as a problem only when two reads find the same state.
   */
  async reread(events: ServerTlsEvents): Promise<void> {
    // A slow file system may delay the previous read beyond the interval.
    if (this.isReading) return;
    this.isReading = true;
    const contents = await Promise.all(this.files.map(({ path }) => read(path)));
    this.isReading = false;
    this.compare(contents, events);
  }

  private compare(contents: Contents, { onChange, onProblem }: ServerTlsEvents): void {
    const state = stateOf(contents);
    const isUnchanged = state === this.seen;
    this.seen = state;
    if (state === this.used) {
      this.reportedState = undefined;
      return;
    }
    if (state === this.reportedState && this.nowMs() < this.checkAgainMs) return;
    const checked = this.check(contents);
    const { material, problems } = checked.material === undefined ? checked : this.checkTime(checked.material);
    if (material !== undefined) {
      this.used = state;
      this.reportedState = undefined;
      this.checkAgainMs = Infinity;
      this.material = material;
      onChange(material);
    } else if (isUnchanged && state !== this.reportedState) {
      this.reportedState = state;
      onProblem(problems.map(({ name, message }) => `${name}: ${message}`).join('; '));
    }
  }

  /** A certificate that is not valid now never replaces one that is. */
  private checkTime(material: ServerTlsMaterial): Checked {
    const nowMs = this.nowMs();
    const [present, offered] = [validityOf(this.material.cert), validityOf(material.cert)];
    const isValid = ({ fromMs, toMs }: Validity) => fromMs <= nowMs && nowMs < toMs;
    if (isValid(offered) || !isValid(present)) return { material, problems: [] };
    const [{ setting: name, path } = NO_FILE] = this.files;
    const hasEnded = offered.toMs <= nowMs;
    // Later it may be valid, or the present one may be no better.
    this.checkAgainMs = hasEnded ? present.toMs : Math.min(offered.fromMs, present.toMs);
    const at = new Date(hasEnded ? offered.toMs : offered.fromMs).toISOString();
    const message = `the certificate in ${path} ${hasEnded ? 'expired at' : 'is not valid before'} ${at}; name a valid one`;
    return { problems: [{ name, message }] };
  }

  private check(contents: Contents): Checked {
    const problems = this.files.flatMap(({ setting: name, path }, index) =>
      problemOf({ name, path, isKey: index === KEY, content: contents[index] ?? { text: '' } }),
    );
    if (problems.length > 0) return { problems };
    const [cert = '', key = '', clientCa] = contents.map((content) => ('text' in content ? content.text : ''));
    const material = { cert, key, ...(clientCa !== undefined && { clientCa }) };
    const [certName = '', keyName = ''] = this.files.map(({ setting }) => setting);
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
      return { problems: [{ name: keyName, message: `it is not the key of the certificate in ${certName}; name a matching pair` }] };
    }
    // Some faults appear only in use, such as a key that is too short for OpenSSL.
    const fault = faultOf(() => createSecureContext({ cert, key, ca: clientCa }));
    return fault === undefined
      ? { material, problems }
      : { problems: [{ name: certName, message: `OpenSSL rejects it (${fault}); create another one` }] };
  }
}

/** Either has the material, or a problem. */
interface Checked {
  readonly material?: ServerTlsMaterial;
  readonly problems: readonly SettingProblem[];
}

/** In milliseconds of Unix time. */
interface Validity {
  readonly fromMs: number;
  readonly toMs: number;
}

const NO_FILE: NamedFile = { setting: '', path: '' };

function validityOf(cert: string): Validity {
  const { validFrom, validTo } = new X509Certificate(cert);
  return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) };
}

interface ReadFile {
  readonly name: string;
  readonly path: string;
  readonly isKey: boolean;
  readonly content: Content;
}

function problemOf({ name, path, isKey, content }: ReadFile): SettingProblem[] {
  if ('fault' in content) return [{ name, message: `${path} can't be read (${content.fault}); name a PEM file` }];
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

/** The message of the error, if `use` throws. */
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
