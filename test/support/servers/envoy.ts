/** A real Envoy for a test: a config file with a few strings replaced, run as one child process. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { hangLimitMs } from '../clock/hang-limit';
import { startChild, waitUntilReady } from '../processes/child-process';
import { httpRequest } from '../clients/http-client';

const READY_TIMEOUT_MS = 40_000;
const VALIDATE_TIMEOUT_MS = hangLimitMs(20_000);
/** Where scripts/install/envoy.mjs puts it. */
const INSTALLED = resolve(__dirname, '..', '..', '..', '.cache', 'envoy', '1.40.0', 'envoy', '_bin', 'envoy');

/** Exact strings and what stands there instead; each has to occur exactly once. */
export type Replacements = Readonly<Record<string, string>>;

export interface EnvoyOptions {
  /** A config as text, or the file that holds it. */
  readonly config: string | { readonly file: string };
  readonly replacements?: Replacements;
  /** The port of the config's admin block, after the replacements: its /ready tells when Envoy is. */
  readonly adminPort: number;
  /** Another Envoy than that of the other tests. */
  readonly binary?: string;
}

export interface EnvoyProcess {
  readonly pid: number;
  output(): string;
  stop(): Promise<number | null>;
}

export async function startEnvoy({ config, replacements = {}, adminPort, binary = tested() }: EnvoyOptions): Promise<EnvoyProcess> {
  const { directory, file } = writeConfig(config, replacements);
  const child = startChild({
    command: binary,
    args: ['-c', file, '--concurrency', '1', '--disable-hot-restart', '--file-flush-interval-msec', '50', '-l', 'warning'],
  });
  const isReady = async (): Promise<boolean> => (await httpRequest(`http://127.0.0.1:${adminPort}/ready`)).status === 200;
  await waitUntilReady('Envoy', child, isReady, READY_TIMEOUT_MS).finally(() => {
    // Envoy has read it by now.
    rmSync(directory, { recursive: true, force: true });
  });
  return { pid: child.pid, output: () => child.output(), stop: () => child.stop() };
}

/** Has Envoy check a config without running it; rejects with its last lines when it refuses. */
export async function validateEnvoyConfig(config: EnvoyOptions['config'], replacements: Replacements = {}): Promise<void> {
  const { directory, file } = writeConfig(config, replacements);
  const child = startChild({ command: tested(), args: ['--mode', 'validate', '-c', file, '-l', 'warning'] });
  const deadline = Date.now() + VALIDATE_TIMEOUT_MS;
  while (child.isRunning() && Date.now() < deadline) await new Promise((later) => setTimeout(later, 20));
  const code = await child.stop();
  rmSync(directory, { recursive: true, force: true });
  if (code !== 0) throw new Error(`Envoy refuses the config (exit code ${String(code)}). Its last lines:\n${child.output()}`);
}

function writeConfig(config: EnvoyOptions['config'], replacements: Replacements): { directory: string; file: string } {
  const text = replaceEach(typeof config === 'string' ? config : readFileSync(config.file, 'utf8'), replacements);
  const directory = mkdtempSync(join(tmpdir(), 'weir-envoy-'));
  const file = join(directory, 'envoy.yaml');
  writeFileSync(file, text);
  return { directory, file };
}

function replaceEach(text: string, replacements: Replacements): string {
  let replaced = text;
  for (const [from, to] of Object.entries(replacements)) {
    const parts = replaced.split(from);
    if (parts.length !== 2)
      throw new Error(
        `${JSON.stringify(from)} occurs ${parts.length - 1} times in the Envoy config; a replacement has to match exactly once`,
      );
    replaced = parts.join(to);
  }
  return replaced;
}

function tested(): string {
  return process.env.WEIR_ENVOY ?? INSTALLED;
}
