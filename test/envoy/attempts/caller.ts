/** Sends attempts over raw connections, and hangs up when they say so. */
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { hangLimitMs } from '../../support/clock/hang-limit';
import type { Attempt } from './attempt';
import { bytesOf, endedAnswers, endedStreams } from './wire';

/** A server that sends nothing for this time is waiting for bytes that the caller does not send. No assertion depends on the time of an answer. */
const SILENCE_MS = 300;
/** A request without a change has an answer, however slow the machine is. */
const PATIENCE_MS = hangLimitMs(10_000);

export interface Sent {
  readonly port: number;
  readonly from: string;
  /** Whether it waits for its answer. */
  readonly isPatient?: boolean;
  readonly tls?: ConnectionOptions | undefined;
  /** The connection is there. */
  readonly onConnected?: () => void;
  /** Resolves when the backend has got a request. */
  readonly hasArrived: () => Promise<void>;
}

export interface Answered {
  readonly answer: Buffer;
  /** Whether the caller hung up before all answers were complete. */
  readonly hungUp: boolean;
}

/** Resolves when the connection has ended. */
export function send(attempt: Attempt, { port, from, tls, isPatient = false, onConnected, hasArrived }: Sent): Promise<Answered> {
  const { hangsUp, protocol, copies, method } = attempt;
  const whole = bytesOf(attempt);
  const bytes = typeof hangsUp === 'object' ? whole.subarray(0, Math.floor(whole.length * hangsUp.afterPart)) : whole;
  const ended = (answer: Buffer) => (protocol === 'HTTP/2' ? endedStreams(answer) : endedAnswers(answer, method));
  return new Promise((resolve) => {
    const address = { host: '127.0.0.1', port, localAddress: from };
    const socket: Socket = tls === undefined ? connectPlain(address) : connectTls({ ...address, ...tls });
    const chunks: Buffer[] = [];
    socket.once('connect', () => onConnected?.());
    const silence = setTimeout(() => socket.destroy(), isPatient ? PATIENCE_MS : SILENCE_MS);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      silence.refresh();
      if (ended(Buffer.concat(chunks)) >= copies) socket.destroy();
    });
    // A server that refuses a request may reset the connection.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(silence);
      const answer = Buffer.concat(chunks);
      resolve({ answer, hungUp: hangsUp !== undefined || ended(answer) < copies });
    });
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.write(bytes, () => {
        if (typeof hangsUp === 'object') socket.destroy();
        else if (hangsUp === 'unanswered') void Promise.race([hasArrived(), pause()]).then(() => socket.destroy());
      });
    });
  });
}

function pause(): Promise<void> {
  return new Promise((later) => setTimeout(later, SILENCE_MS));
}
