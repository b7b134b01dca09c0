/** grpc.health.v1: Check, List and Watch report the health of the process. */

import type { Health, ServingStatus } from '../../observability/health';
import { decodeHealthCheck, encodeHealth, encodeHealthList } from '../messages/health-codec';
import {
  SMALL_MESSAGE_BYTES_MAX,
  UNREADABLE,
  type AnswerStream,
  type GrpcMethod,
  type MethodAnswer,
  type RequestReader,
} from './grpc-method';
import { status } from './grpc-status';

const SERVICE = '/grpc.health.v1.Health';

export const CHECK_PATH = `${SERVICE}/Check`;

/** Known service names: the server as a whole, and the name that envoyproxy/ratelimit registers. */
const SERVICES: readonly string[] = ['', 'ratelimit'];

/** Maximum of open Watch streams: more than an orchestrator needs, and a bound on the memory that clients can use. */
export const WATCHES_MAX = 1024;

/** Values of `HealthCheckResponse.ServingStatus`. */
const WIRE_STATUS: Readonly<Record<ServingStatus | 'SERVICE_UNKNOWN', number>> = {
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
};

const UNKNOWN_SERVICE = { code: status.NOT_FOUND, details: 'unknown service; ask for "ratelimit" or ""' };
const TOO_MANY_WATCHES = { code: status.RESOURCE_EXHAUSTED, details: `${WATCHES_MAX} health watches are open; use Check` };

export class GrpcHealth {
  readonly methods: readonly GrpcMethod[];
  private readonly watches = new Set<AnswerStream>();
  private isEnding = false;

  constructor(private readonly health: Health) {
    this.methods = [
      unary(CHECK_PATH, (message) => {
        const request = readRequest(message);
        if ('error' in request) return request;
        if (!SERVICES.includes(request.service)) return { error: UNKNOWN_SERVICE };
        return { message: encodeHealth(this.current()) };
      }),
      unary(`${SERVICE}/List`, () => ({ message: encodeHealthList(SERVICES, this.current()) })),
      {
        kind: 'stream',
        requests: 'one',
        path: `${SERVICE}/Watch`,
        bytesMax: SMALL_MESSAGE_BYTES_MAX,
        open: (answers) => this.openWatch(answers),
      },
    ];
  }

  /** Ends every watch, present and future, so that a drain does not wait for streams that never end. */
  endWatches(): void {
    this.isEnding = true;
    for (const answers of [...this.watches]) answers.end();
    this.watches.clear();
  }

  private current(): number {
    return WIRE_STATUS[this.health.status];
  }

  private openWatch(answers: AnswerStream): RequestReader {
    let stopListening = (): void => undefined;
    let isStale = false;
    const write = (servingStatus: number): void => {
      answers.write(encodeHealth(servingStatus));
    };
    const show = (): void => {
      // A peer that does not read gets the latest status later, without those in between.
      isStale = answers.isFull;
      if (!isStale) write(this.current());
    };
    return {
      onMessage: (message) => {
        const request = readRequest(message);
        if ('error' in request || this.watches.size >= WATCHES_MAX) {
          answers.end('error' in request ? request.error : TOO_MANY_WATCHES);
          return;
        }
        const isKnown = SERVICES.includes(request.service);
        // An unknown name is not a protocol error: the client keeps watching until the name appears.
        write(isKnown ? this.current() : WIRE_STATUS.SERVICE_UNKNOWN);
        // The peer may open a watch before it knows of the drain.
        if (this.isEnding) {
          answers.end();
          return;
        }
        this.watches.add(answers);
        if (isKnown) stopListening = this.health.onChange(show);
      },
      onEnd: () => undefined,
      onClose: () => {
        stopListening();
        this.watches.delete(answers);
      },
      onDrained: () => {
        if (isStale) show();
      },
    };
  }
}

function unary(path: string, answer: (message: Buffer) => MethodAnswer): GrpcMethod {
  return {
    kind: 'unary',
    path,
    bytesMax: SMALL_MESSAGE_BYTES_MAX,
    answer: (message) =>
      new Promise((resolve) => {
        resolve(answer(message));
      }),
  };
}

function readRequest(message: Buffer): { readonly service: string } | { readonly error: typeof UNREADABLE } {
  try {
    return { service: decodeHealthCheck(message) };
  } catch {
    return { error: UNREADABLE };
  }
}
