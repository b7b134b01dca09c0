/** Connections on their way to a worker: those that it had not taken when it ended are closed, so that their clients come again. */

import type { ChildProcess } from 'node:child_process';

/** What node:cluster tells a worker with a connection, and hears of it when that is taken, or refused and given to another. */
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
 * node:cluster forgets a connection whose worker ends before it has said that it takes it: a client has been let in, and is answered by
 * nobody for as long as this process lives. A worker that hangs and is killed leaves one for each port.
 */
export function closeUntaken(worker: ChildProcess): void {
  // It could not be begun, and has no way to be sent anything.
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
  // Whichever comes last: in between one more may be sent.
  worker.on('exit', closeAll);
  worker.on('disconnect', closeAll);
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';
}
