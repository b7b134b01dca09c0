/** The gRPC port: by which server, with which rules for its connections, its certificates, and what is told of them. */

import { monotonicNowMs } from './clock';
import type { GrpcTlsFiles } from './config/grpc-tls';
import type { Settings } from './config/settings';
import type { Logger } from './observability/logger';
import type { Metrics } from './observability/metrics';
import { Seldom } from './observability/seldom';
import type { FailureKind, FaultLog } from './transport/answer';
import { END_REASONS, type ConnectionMeasure, type EndReason } from './transport/connection-measure';
import type { ConnectionRules } from './transport/connection-rules';
import type { GrpcAddress } from './transport/grpc-listener';
import { GrpcServer, type GrpcServerOptions } from './transport/grpc-server';
import { LeanServer } from './transport/http2/lean-server';
import type { ServerTls, ServerTlsMaterial } from './transport/server-tls';

/** How often the files of certificates are read. */
const CERTIFICATES_MS = 2000;

export interface GrpcPortOptions extends Pick<GrpcServerOptions, 'answerCalls' | 'reservationCalls' | 'health' | 'onCall'> {
  readonly settings: Settings;
  /** Undefined: no TLS. */
  readonly tlsFiles: GrpcTlsFiles | undefined;
  /** One of several processes on this port: whoever runs them has made way for its socket. */
  readonly isWorker: boolean;
  readonly log: Logger;
  readonly faults: FaultLog;
  readonly metrics: Metrics;
  /** Called once for each answer that is a failure of the transport. */
  readonly onFailure: (kind: FailureKind) => void;
}

export class GrpcPort {
  private readonly server: GrpcServer | LeanServer;
  private readonly address: GrpcAddress;
  private certificateTimer: NodeJS.Timeout | undefined;

  constructor(options: GrpcPortOptions) {
    const { settings, tlsFiles, log, faults, metrics, answerCalls, reservationCalls, health, onCall, onFailure } = options;
    const rules: ConnectionRules = {
      streamsMax: settings.grpcMaxConcurrentStreams,
      maxAgeMs: settings.grpcMaxConnectionAgeMs,
      maxAgeGraceMs: settings.grpcMaxConnectionAgeGraceMs,
      keepaliveTimeMs: settings.grpcKeepaliveTimeMs,
      keepaliveTimeoutMs: settings.grpcKeepaliveTimeoutMs,
    };
    const tls = tlsFiles && this.openTls(tlsFiles, options);
    const calls = { answerCalls, reservationCalls, health, onCall };
    const edge = { rules, measure: measureBy(metrics, log), tls };
    if (settings.transport === 'lean') {
      // Its connections are ours, and live as long as those that they serve.
      const grpc = new GrpcServer({ ...calls, rules: { ...rules, maxAgeMs: 0, keepaliveTimeMs: 0 } });
      this.server = new LeanServer({ ...calls, ...edge, grpc, log: faults, onFailure });
    } else {
      this.server = new GrpcServer({ ...calls, ...edge });
    }
    const { grpcHost: host, grpcPort: port, grpcUds: path, grpcUdsMode: mode } = settings;
    this.address = path === undefined ? { host, port } : { path, mode, isShared: options.isWorker };
  }

  /** Listens, and answers where: the port, once 0 has become a free one, or the path of the socket. */
  async start(): Promise<number | string> {
    const { port } = await this.server.start(this.address);
    return 'path' in this.address ? this.address.path : port;
  }

  async drain(bound: { readonly timeoutMs: number }): Promise<void> {
    await this.server.drain(bound);
    clearInterval(this.certificateTimer);
  }

  private openTls(files: GrpcTlsFiles, { settings, log, metrics }: GrpcPortOptions): ServerTls {
    let use: (material: ServerTlsMaterial) => void = () => undefined;
    metrics.grpcCertificateExpiry.set(files.expiresAtS);
    this.certificateTimer = setInterval(() => {
      void files.reread({
        onChange: (material) => {
          use(material);
          metrics.grpcCertificateReloads.inc({ result: 'success' });
          metrics.grpcCertificateExpiry.set(files.expiresAtS);
          log.info('new certificates are in use on the gRPC port');
        },
        onProblem: (sentence) => {
          metrics.grpcCertificateReloads.inc({ result: 'error' });
          log.error(`${sentence}. The last good certificates stay in use on the gRPC port.`);
        },
      });
    }, CERTIFICATES_MS).unref();
    return {
      material: files.material,
      ...(settings.grpcClientTlsSan !== undefined && { clientSan: settings.grpcClientTlsSan }),
      onReady: (take) => {
        use = take;
      },
    };
  }
}

/** It is in the life of every connection, and no line of the log. */
const USUAL: readonly EndReason[] = ['max_age'];

function measureBy(metrics: Metrics, log: Logger): ConnectionMeasure {
  const seldom = new Seldom({
    say: (sentence) => {
      log.warn(sentence);
    },
    nowMs: monotonicNowMs,
  });
  // All of them from the start, so that a first one is seen as a rise.
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
      if (!USUAL.includes(reason)) seldom.say(reason, `a connection to the gRPC port was ended (${reason}): ${details}`);
    },
    onStreamRefused: () => {
      metrics.grpcStreamsRefused.inc();
    },
  };
}
