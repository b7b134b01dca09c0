/** Prepares the path of a unix socket: removes a stale socket, and never one in use. */

import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';

/** How long a connection attempt to the socket may take. */
const PROBE_TIMEOUT_MS = 1000;

/** The message says what is at the path and what to do. */
export class SocketPathError extends Error {
  override readonly name = 'SocketPathError';
}

/**
 * Removes the socket at `path` if no process listens on it.
 *
 * @throws SocketPathError if a process does, or if the file is not a socket
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const before = await lstat(path).catch(() => undefined);
  if (before === undefined) return;
  if (!before.isSocket()) throw new SocketPathError(`GRPC_UDS: ${path} exists and is not a socket; remove it, or use another path`);
  if (!(await isDead(path))) throw new SocketPathError(`GRPC_UDS: another process listens on ${path}; stop it, or use another path`);
  // Another process that starts at the same time may have created its socket meanwhile.
  const now = await lstat(path).catch(() => undefined);
  if (now?.ino === before.ino && now.ctimeMs === before.ctimeMs) await unlink(path);
}

/** Only a refused connection proves that no process listens. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const finish = (dead: boolean): void => {
      socket.destroy();
      resolve(dead);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => {
      finish(false);
    });
    socket.once('connect', () => {
      finish(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      finish(error.code === 'ECONNREFUSED');
    });
  });
}
