/** Free loopback ports for servers whose port is set before they start. */
import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Below the ports that systems give to outgoing connections, so that none of those takes one in the meantime. */
const FIRST = 10_000;
const BELOW = 32_000;
const ATTEMPTS = 100;

/** One empty file for each port that a test process has taken: several of them, in several stages, run at once. */
const TAKEN = join(tmpdir(), 'weir-test-ports');
/** Longer than any test file runs. */
const TAKEN_MS = 20 * 60_000;

/** A port that nobody listened on a moment ago, and that no other test takes. */
export async function freePort(): Promise<number> {
  mkdirSync(TAKEN, { recursive: true });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST, BELOW);
    if (take(port) && (await isFree(port))) return port;
  }
  throw new Error(`found no free port in ${ATTEMPTS} attempts`);
}

/** Only one process can create the file. */
function take(port: number): boolean {
  const path = join(TAKEN, String(port));
  const takenMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (takenMs !== undefined && Date.now() - takenMs > TAKEN_MS) rmSync(path, { force: true });
  try {
    writeFileSync(path, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () =>
      server.close(() => {
        resolve(true);
      }),
    );
  });
}
