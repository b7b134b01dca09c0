/** Opens the gRPC port: its transport, connection rules, certificates, metrics and log. */

import { monotonicNowMs } from '../../../lib/clock';
import type { ServerTlsFiles } from '../../../configuration/settings/tls/server-tls-files';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { EndedCertificates } from '../../../server/observability/ended-certificates';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import type { FailureKind, FaultLog } from '../../../server/transport/answer';
import { END_REASONS, type ConnectionMeasure, type EndReason } from '../../../server/transport/port/connection-measure';
import type { ConnectionRules } from '../../../server/transport/port/connection-rules';
import type { GrpcAddress } from '../../../server/transport/port/grpc-listener';
import type { GrpcServerOptions } from '../../../server/transport/grpc/grpc-server';
import { LeanServer, type LeanServerOptions } from '../../../server/transport/http2/lean-server';
import { listenOn, type ListenPlace } from '../../../server/transport/port/listen-error';
import type { ServerTls, ServerTlsMaterial } from '../../../server/transport/port/server-tls';

/** Interval between checks of the certificate files. */
const CERTIFICATES_MS = 2000;

export interface GrpcPortOptions extends Pick<
  GrpcServerOptions,
  'answerCalls' | 'reservationCalls' | 'health' | 'onCall' | 'tracer' | 'gate'
> {
  readonly settings: Settings;
  /** Undefined: no TLS. */
  readonly tlsFiles: ServerTlsFiles | undefined;
  /** Whether this process is a worker: the parent process has then removed a stale socket. */
  readonly isWorker: boolean;
  readonly log: Logger;
  readonly faults: FaultLog;
  readonly metrics: Metrics;
  readonly ended: EndedCertificates;
  readonly connectionsMax: number;
  /** Called for each call that the transport answers with a failure. */
  readonly onFailure: (kind: FailureKind) => void;
}

/** A gRPC server of either transport. */
export type GrpcPortServer = Pick<LeanServer, 'start' | 'drain'>;

export async function makeGrpcServer(
  transport: Settings['transport'],
  { connectionsMax, ...parts }: Omit<LeanServerOptions, 'bounds'>,
): Promise<GrpcPortServer> {
  const bound = connectionsMax === undefined ? {} : { connectionsMax };
  if (transport === 'lean') return new LeanServer({ ...parts, bounds: bound });
  // Imported on demand: grpc-js takes 40 ms of CPU and 5 MB, which the lean transport does not need.
  const { GrpcServer } = await import('../../../server/transport/grpc/grpc-server.js');
  return new GrpcServer({ ...parts, ...bound });
}

export class GrpcPort {
  private constructor(
    private readonly server: GrpcPortServer,
    private readonly address: GrpcAddress,
    private readonly certificates: Certificates | undefined,
  ) {}

  static async open(options: GrpcPortOptions): Promise<GrpcPort> {
    const {
      settings,
      tlsFiles,
      log,
      faults,
      metrics,
      answerCalls,
      reservationCalls,
      tracer,
      health,
      onCall,
      onFailure,
      connectionsMax,
      gate,
    } = options;
    const rules: ConnectionRules = {
      streamsMax: settings.grpcMaxConcurrentStreams,
      maxAgeMs: settings.grpcMaxConnectionAgeMs,
      maxAgeGraceMs: settings.grpcMaxConnectionAgeGraceMs,
      keepaliveTimeMs: settings.grpcKeepaliveTimeMs,
      keepaliveTimeoutMs: settings.grpcKeepaliveTimeoutMs,
    };
    const certificates = tlsFiles && openTls(tlsFiles, options);
    const server = await makeGrpcServer(settings.transport, {
      answerCalls,
      reservationCalls,
      tracer,
      health,
      onCall,
      rules,
      measure: measureBy(metrics, log),
      tls: certificates?.tls,
      connectionsMax,
      gate,
      log: faults,
      onFailure,
    });
    const { grpcHost: host, grpcPort: port, grpcUds: path, grpcUdsMode: mode } = settings;
    return new GrpcPort(server, path === undefined ? { host, port } : { path, mode, isShared: options.isWorker }, certificates);
  }

  /** Resolves to the bound port, or the path of the unix socket. */
  async bind(): Promise<{ readonly grpc: number | string }> {
    const { port } = await listenOn(placeOf(this.address), () => this.server.start(this.address));
    return { grpc: 'path' in this.address ? this.address.path : port };
  }

  async drain(bound: { readonly timeoutMs: number }): Promise<void> {
    await this.server.drain(bound);
    this.certificates?.close();
  }
}

interface Certificates {
  readonly tls: ServerTls;
  /** Stops checking the files. */
  readonly close: () => void;
}

function openTls(files: ServerTlsFiles, { settings, log, metrics, ended }: GrpcPortOptions): Certificates {
  let use: (material: ServerTlsMaterial) => void = () => undefined;
  metrics.grpcCertificateExpiry.set(files.expiresAtS);
  const showEnd = () => {
    ended.show('GRPC_SERVER_TLS_CERT', files.expiresAtS);
  };
  showEnd();
  const timer = setInterval(() => {
    showEnd();
    void files.reread({
      onChange: (material) => {
        use(material);
        metrics.grpcCertificateReloads.inc({ result: 'success' });
        metrics.grpcCertificateExpiry.set(files.expiresAtS);
        log.info(event('certificates_loaded'), 'new certificates are in use on the gRPC port');
      },
      onProblem: (sentence) => {
        metrics.grpcCertificateReloads.inc({ result: 'error' });
        log.error(
          event('certificates_refused', { error: sentence }),
          `${sentence}. The last good certificates stay in use on the gRPC port.`,
        );
      },
    });
  }, CERTIFICATES_MS).unref();
  const tls: ServerTls = {
    material: files.material,
    ...(settings.grpcClientTlsSan !== undefined && { clientSan: settings.grpcClientTlsSan }),
    onReady: (take) => {
      use = take;
    },
  };
  return {
    tls,
    close: () => {
      clearInterval(timer);
    },
  };
}

function placeOf(address: GrpcAddress): ListenPlace {
  return 'path' in address
    ? { path: address.path, pathSetting: 'GRPC_UDS' }
    : { ...address, hostSetting: 'GRPC_HOST', portSetting: 'GRPC_PORT' };
}

/** Reasons that are normal in the life of a connection, so they are not logged. */
const USUAL: readonly EndReason[] = ['max_age'];

function measureBy(metrics: Metrics, log: Logger): ConnectionMeasure {
  const throttled = new ThrottledLog<EndReason>({
    write: (sentence, reason) => {
      log.warn(event('grpc_connection_ended', { reason }), sentence);
    },
    nowMs: monotonicNowMs,
  });
  // All reasons start at 0, so that the first event shows as an increase.
  for (const reason of END_REASONS) metrics.grpcConnectionsEnded.inc({ reason }, 0);
  return {
    onOpen: () => {
      metrics.grpcConnections.inc();
    },
    onClose: () => {
      metrics.grpcConnections.dec();
    },
    onEnd: (reason, details) => {
      metrics.grpcConnectionsEnded.inc({ reason });
      if (!USUAL.includes(reason)) throttled.log(reason, `closed a connection to the gRPC port (${reason}): ${details}`, reason);
    },
    onStreamRefused: () => {
      metrics.grpcStreamsRefused.inc();
    },
  };
}
