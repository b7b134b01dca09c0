/** Limits the connections of each port by the process's limit on open files, and logs when a limit is reached. */

import { monotonicNowMs } from '../../../lib/clock';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { CONNECTIONS_MAX } from '../../../server/transport/port/grpc-listener';
import { HTTP_BOUNDS, type HttpServerOptions } from '../../../server/transport/http/http-server';
import { limitConnections, readFilesMax, watchOpenFiles } from '../../../server/transport/port/open-files';

/** Maximum for ports that people, probes and Prometheus use. */
const DEBUG_CONNECTIONS_MAX = 1_000;

const RAISE = 'raise the limit (ulimit -n, LimitNOFILE of systemd)';

export type PortLimit = Pick<HttpServerOptions, 'bounds' | 'onTooMany' | 'gate'>;

export interface PortLimits {
  readonly grpcConnectionsMax: number;
  readonly http: PortLimit;
  readonly debug: PortLimit;
  /** The port of PROMETHEUS_ADDR. */
  readonly metrics: PortLimit;
  /** Stops watching the number of open files. */
  readonly close: () => void;
}

/** With `isWorker` it does not log at the start, because the parent process has. */
export function openPortLimits({ log, isWorker }: { readonly log: Logger; readonly isWorker: boolean }): PortLimits {
  const filesMax = readFilesMax();
  const limits = limitConnections({ grpc: CONNECTIONS_MAX, http: HTTP_BOUNDS.connectionsMax, debug: DEBUG_CONNECTIONS_MAX }, filesMax);
  if (limits.isLowered && !isWorker) {
    log.info(
      event('open_files_limit', { filesMax, filesWanted: limits.filesWanted }),
      `the limit on open files is ${filesMax ?? 0}: Weir accepts at most ${limits.grpc} gRPC and ${limits.http} HTTP connections, to reserve files for Redis and health checks; ${RAISE} to ${limits.filesWanted} to accept more`,
    );
  }
  const throttled = new ThrottledLog({
    write: (sentence) => {
      log.warn(event('connection_refused'), sentence);
    },
    nowMs: monotonicNowMs,
  });
  const http = (port: string, connectionsMax: number): PortLimit => ({
    bounds: { connectionsMax },
    onTooMany: (open) => {
      throttled.log(
        port,
        `closed an idle connection to the ${port} port for a new one, or the new one if none was idle: ${open} are open, which is its maximum`,
      );
    },
  });
  return {
    grpcConnectionsMax: limits.grpc,
    http: http('HTTP', limits.http),
    debug: http('debug', limits.debug),
    metrics: http('metrics', limits.debug),
    close: watchOpenFiles(({ code }) => {
      throttled.log(
        'files',
        `cannot open a file (${code ?? 'unknown'}): ${filesMax === undefined ? 'the system' : 'the process'} has reached its limit on open files${filesMax === undefined ? '' : `, ${filesMax}`}, so new connections are closed; ${RAISE}`,
      );
    }),
  };
}
