/** Configuration over xDS: by which connection, as whom, what is told of it, and where its sets go. */

import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import { Backoff } from './backoff';
import { monotonicNowMs } from './clock';
import type { RulesInForce, SetSource } from './config/rules-in-force';
import type { Settings } from './config/settings';
import { readXdsTls } from './config/xds-tls';
import type { Logger } from './observability/logger';
import type { ManagementServer } from './observability/metrics';
import { tlsCredentials } from './transport/client-credentials';
import { VERSION } from './version';
import { AdsClient, type AdsClientOptions } from './xds/ads-client';
import { loadXdsProto } from './xds/proto';

/** How long a start waits for the first configuration before it goes on without. */
const FIRST_SET_MS = 2_000;

/** gRPC's own bound. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

const GROWTH = 2;

export interface OpenXdsOptions {
  readonly settings: Settings;
  readonly rules: RulesInForce;
  readonly log: Logger;
}

/** Throws SettingsError for what would never work: it is found out at the start, and not by a connection that never comes about. */
export function openXds({ settings, rules, log }: OpenXdsOptions): SetSource & ManagementServer {
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
      log.info(`connected to the management server at ${place}`);
    },
    onLost: ({ reason, waitMs }) => {
      isConnected = false;
      const rest = rules.ruleSet === undefined ? 'There is no configuration yet' : 'The last good configuration stays in force';
      log.warn(`no configuration from the management server at ${place} (${reason}). ${rest}; next try in ${(waitMs / 1000).toFixed(1)} s.`);
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
        log.warn(`waiting for the first configuration from the management server at ${place}, as node ${settings.configGrpcXdsNodeId}: it has sent none within ${FIRST_SET_MS / 1000} s`);
      }
    },
    // `load` has begun the conversation, and that goes on.
    watch: () => undefined,
    reload: () => {
      client.askAnew();
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
      // With less than 1 they would never grow.
      factor: settings.xdsClientBackoffRandomFactor < 1 ? GROWTH : settings.xdsClientBackoffRandomFactor,
      ...(settings.xdsClientBackoffJitter && { random: Math.random }),
    }),
    connectRetryMs: settings.configGrpcXdsServerConnectRetryIntervalMs,
    streamRetryMs: settings.xdsClientBackoffInitialIntervalMs,
    settledMs: settings.xdsClientBackoffMaxIntervalMs,
  };
}

function credentialsOf(settings: Settings): ChannelCredentials {
  const tls = readXdsTls(settings);
  if (tls === false) return credentials.createInsecure();
  const { ca, identity } = tls;
  return tlsCredentials({
    authorities: ca === undefined ? undefined : Buffer.from(ca),
    certificate: identity && Buffer.from(identity.cert),
    key: identity && Buffer.from(identity.key),
  });
}

function nodeOf({ configGrpcXdsNodeId: id, configGrpcXdsNodeMetadata: metadata }: Settings) {
  const fields = metadata?.map(([name, value]) => [name, { stringValue: value }] as const);
  return { id, ...(fields && { metadata: { fields: Object.fromEntries(fields) } }), user_agent_name: 'weir', user_agent_version: VERSION };
}
