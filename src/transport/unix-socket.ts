/** The file of a unix socket to listen on: one that a dead process has left is put out of the way, one that lives is not. */

import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';

/** How long whoever listens there may take to say so. */
const PROBE_TIMEOUT_MS = 1000;

/** Its message says what is there and what to do. */
export class SocketPathError extends Error {
  override readonly name = 'SocketPathError';
}

/**
 * Removes the socket at `path` if nobody listens on it.
 *
 * @throws SocketPathError if somebody does, or if it is no socket
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const before = await lstat(path).catch(() => undefined);
  if (before === undefined) return;
  if (!before.isSocket()) throw new SocketPathError(`GRPC_UDS: ${path} is there already and is no socket; remove it, or name another path`);
  if (!(await isDead(path))) throw new SocketPathError(`GRPC_UDS: somebody listens on ${path} already; stop them, or name another path`);
  // Another process that starts just now may have put its own there meanwhile.
  const now = await lstat(path).catch(() => undefined);
  if (now?.ino === before.ino && now.ctimeMs === before.ctimeMs) await unlink(path);
}

/** Only a refused connection says that there is no process behind the file. */
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
