/** grpc.health.v1: Check, List and Watch over the health of the process. */

import { status, type sendUnaryData, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import type { Health, ServingStatus } from '../observability/health';

/** The names that may be asked for: the server as a whole, and the one that the reference registers. */
const SERVICES: readonly string[] = ['', 'ratelimit'];

/** Watch streams open at once: far more than there are orchestrators, and a bound on what clients can pile up. */
export const WATCHES_MAX = 1024;

/** Numbers of `HealthCheckResponse.ServingStatus`. */
const WIRE_STATUS: Readonly<Record<ServingStatus | 'SERVICE_UNKNOWN', number>> = {
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
};

interface HealthRequest {
  readonly service?: string;
}

interface HealthResponse {
  readonly status: number;
}

interface HealthListResponse {
  readonly statuses: Readonly<Record<string, HealthResponse>>;
}

type WatchCall = ServerWritableStream<HealthRequest, HealthResponse>;

export class GrpcHealth {
  private readonly watches = new Set<WatchCall>();
  private isEnding = false;

  constructor(private readonly health: Health) {}

  /** Handlers by method name, for `Server.addService`. */
  readonly handlers = {
    Check: (call: ServerUnaryCall<HealthRequest, HealthResponse>, answer: sendUnaryData<HealthResponse>): void => {
      const { service = '' } = call.request;
      if (SERVICES.includes(service)) answer(null, this.current());
      else answer({ code: status.NOT_FOUND, details: 'unknown service; ask for "ratelimit" or ""' });
    },
    List: (_call: ServerUnaryCall<object, HealthListResponse>, answer: sendUnaryData<HealthListResponse>): void => {
      answer(null, { statuses: Object.fromEntries(SERVICES.map((service) => [service, this.current()])) });
    },
    Watch: (call: WatchCall): void => {
      this.watch(call);
    },
  };

  /** Ends every watch, and from now on each that begins, so that a drain does not wait for streams that never end by themselves. */
  endWatches(): void {
    this.isEnding = true;
    for (const call of [...this.watches]) call.end();
    this.watches.clear();
  }

  private current(): HealthResponse {
    return { status: WIRE_STATUS[this.health.status] };
  }

  private watch(call: WatchCall): void {
    if (this.watches.size >= WATCHES_MAX) {
      // How grpc-js ends a stream with a status; destroying it would send none.
      call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `${WATCHES_MAX} health watches are open; use Check` });
      return;
    }
    const { service = '' } = call.request;
    const known = SERVICES.includes(service);
    // A name that is unknown now is no error of the protocol: the client keeps watching for it to appear.
    call.write(known ? this.current() : { status: WIRE_STATUS.SERVICE_UNKNOWN });
    // A peer that does not know of the drain yet begins one.
    if (this.isEnding) {
      call.end();
      return;
    }
    this.watches.add(call);
    const stopListening = known
      ? this.health.onChange(() => {
          call.write(this.current());
        })
      : (): void => undefined;
    const forget = (): void => {
      stopListening();
      this.watches.delete(call);
    };
    call.once('cancelled', forget);
    call.once('close', forget);
    call.once('error', forget);
  }
}
