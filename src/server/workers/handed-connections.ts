/** Closes connections handed to a worker that ended before it took them, so that their clients reconnect. */

import type { ChildProcess } from 'node:child_process';

/** The messages by which node:cluster hands a connection to a worker, and by which the worker accepts or refuses it. */
interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

const NEW_CONNECTION = 'newconn';

interface Handle {
  close(): void;
}

/**
 * node:cluster drops its reference to a connection whose worker ends before it accepts: the socket stays open, and the client
 * gets no answer while this process lives. A worker that hangs and is killed leaves one for each port.
 */
export function closeUntaken(worker: ChildProcess): void {
  // The fork failed, so there is nothing to send on.
  if (worker.pid === undefined) return;
  const untaken = new Map<unknown, Handle>();
  const send = worker.send.bind(worker) as (...args: unknown[]) => boolean;
  worker.send = (message: ClusterMessage, handle?: unknown, ...rest: unknown[]) => {
    if (message.act === NEW_CONNECTION && isHandle(handle)) untaken.set(message.seq, handle);
    return send(message, handle, ...rest);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => {
    untaken.delete(ack);
  });
  const closeAll = (): void => {
    for (const handle of untaken.values()) handle.close();
    untaken.clear();
  };
  // Either event may be the last: another connection may be sent between them.
  worker.on('exit', closeAll);
  worker.on('disconnect', closeAll);
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';
}
