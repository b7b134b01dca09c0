/** Wires configuration over xDS: connection, node identity, log, and delivery to the rules. */

import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import { Backoff } from '../../lib/backoff';
import { monotonicNowMs } from '../../lib/clock';
import type { RulesInForce, SetSource } from '../../configuration/source/rules-in-force';
import type { Settings } from '../../configuration/settings/table/settings';
import { readXdsTls } from '../../configuration/settings/tls/xds-tls';
import { takeGrpcLog } from '../../server/observability/log/grpc-log';
import { event } from '../../server/observability/log/log-event';
import type { Logger } from '../../server/observability/log/logger';
import type { ManagementServer } from '../../server/observability/metrics/metrics';
import { grpcAuthorities } from '../../configuration/settings/tls/trusted-authorities';
import { tlsCredentials } from '../../server/transport/grpc/client-credentials';
import { VERSION } from './context/version';
import { AdsClient, type AdsClientOptions } from '../../configuration/source/xds/ads-client';
import { loadXdsProto } from '../../configuration/source/xds/proto';

/** How long the start waits for the first configuration. */
const FIRST_SET_MS = 2_000;

/** The default limit of gRPC. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

const GROWTH = 2;

export interface OpenXdsOptions {
  readonly settings: Settings;
  readonly rules: RulesInForce;
  readonly log: Logger;
}

/** Throws SettingsError for settings that cannot work, so that the start fails and not every later connection. */
export function openXds({ settings, rules, log }: OpenXdsOptions): SetSource & ManagementServer {
  takeGrpcLog(log);
  readXdsTls(settings);
  const place = settings.configGrpcXdsServerUrl;
  let isConnected = false;
  let onFirstSet: () => void = () => undefined;
  const firstSet = new Promise<void>((resolve) => {
    onFirstSet = resolve;
  });
  const client = new AdsClient({
    ...connectionOf(settings),
    onSet: async (set) => {
      const outcome = await rules.offer(set);
      onFirstSet();
      return 'error' in outcome ? outcome.error.message : undefined;
    },
    onConnected: () => {
      isConnected = true;
      log.info(event('xds_connected', { address: place }), `connected to the management server at ${place}`);
    },
    onLost: ({ reason, waitMs }) => {
      isConnected = false;
      const rest = rules.ruleSet === undefined ? 'There is no configuration yet' : 'The last good configuration stays in force';
      log.warn(
        event('xds_lost', { address: place, error: reason, waitMs }),
        `no configuration from the management server at ${place} (${reason}). ${rest}; next try in ${(waitMs / 1000).toFixed(1)} s.`,
      );
    },
    nowMs: monotonicNowMs,
  });
  return {
    get isConnected() {
      return isConnected;
    },
    load: async () => {
      void client.run();
      await Promise.race([firstSet, sleep(FIRST_SET_MS)]);
      if (rules.ruleSet === undefined && rules.error === undefined) {
        log.warn(
          event('xds_waiting', { address: place, node: settings.configGrpcXdsNodeId }),
          `waiting for the first configuration from the management server at ${place}, as node ${settings.configGrpcXdsNodeId}: it has sent none within ${FIRST_SET_MS / 1000} s`,
        );
      }
    },
    // `load` opened the stream, which continues to deliver.
    watch: () => undefined,
    reload: () => {
      client.requestAgain();
    },
    close: () => {
      client.stop();
    },
  };
}

function connectionOf(settings: Settings): Omit<AdsClientOptions, 'onSet' | 'onConnected' | 'onLost' | 'nowMs'> {
  return {
    proto: loadXdsProto(),
    target: settings.configGrpcXdsServerUrl,
    credentials: () => credentialsOf(settings),
    channel: {
      messageBytesMax: settings.xdsClientMaxMsgSizeInBytes || MESSAGE_BYTES_MAX,
      keepaliveTimeMs: settings.xdsClientKeepaliveTimeMs,
      keepaliveTimeoutMs: settings.xdsClientKeepaliveTimeoutMs,
      serverName: settings.configGrpcXdsServerTlsSan,
    },
    node: nodeOf(settings),
    headers: settings.configGrpcXdsClientAdditionalHeaders ?? [],
    backoff: new Backoff({
      maxMs: settings.xdsClientBackoffMaxIntervalMs,
      // A factor below 1 would make the waits shorter each time.
      factor: settings.xdsClientBackoffRandomFactor < 1 ? GROWTH : settings.xdsClientBackoffRandomFactor,
      ...(settings.xdsClientBackoffJitter && { random: Math.random }),
    }),
    connectRetryMs: settings.configGrpcXdsServerConnectRetryIntervalMs,
    streamRetryMs: settings.xdsClientBackoffInitialIntervalMs,
    steadyMs: settings.xdsClientBackoffMaxIntervalMs,
  };
}

function credentialsOf(settings: Settings): ChannelCredentials {
  const tls = readXdsTls(settings);
  if (tls === false) return credentials.createInsecure();
  const { ca, identity } = tls;
  return tlsCredentials({
    authorities: ca === undefined ? grpcAuthorities() : Buffer.from(ca),
    certificate: identity && Buffer.from(identity.cert),
    key: identity && Buffer.from(identity.key),
  });
}

function nodeOf({ configGrpcXdsNodeId: id, configGrpcXdsNodeMetadata: metadata }: Settings) {
  const fields = metadata?.map(([name, value]) => [name, { stringValue: value }] as const);
  return { id, ...(fields && { metadata: { fields: Object.fromEntries(fields) } }), user_agent_name: 'weir', user_agent_version: VERSION };
}
