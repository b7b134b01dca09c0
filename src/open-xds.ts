/** Configuration over xDS: by which connection, as whom, what is told of it, and where its sets go. */

import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import type { RulesInForce } from './config/rules-in-force';
import type { Settings } from './config/settings';
import { readXdsTls } from './config/xds-tls';
import type { Logger } from './observability/logger';
import { VERSION } from './version';
import { AdsClient } from './xds/ads-client';
import { Backoff } from './xds/backoff';
import { loadXdsProto } from './xds/proto';

/** gRPC's own bound. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

export interface OpenXdsOptions {
  readonly settings: Settings;
  readonly rules: RulesInForce;
  readonly log: Logger;
}

/** Asks for configurations from now on, until stopped. Throws SettingsError for what would never work. */
export function openXds({ settings, rules, log }: OpenXdsOptions): { readonly stop: () => void } {
  const place = settings.configGrpcXdsServerUrl;
  // Found out at the start, and not by a connection that never comes about.
  readXdsTls(settings);
  const client = new AdsClient({
    proto: loadXdsProto(),
    target: place,
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
      factor: settings.xdsClientBackoffRandomFactor < 1 ? 2 : settings.xdsClientBackoffRandomFactor,
      jitter: settings.xdsClientBackoffJitter,
      random: Math.random,
    }),
    connectRetryMs: settings.configGrpcXdsServerConnectRetryIntervalMs,
    streamRetryMs: settings.xdsClientBackoffInitialIntervalMs,
    settledMs: settings.xdsClientBackoffMaxIntervalMs,
    onSet: async (set) => {
      const outcome = await rules.offer(set);
      return 'error' in outcome ? outcome.error.message : undefined;
    },
    onConnected: () => {
      log.info(`connected to the management server at ${place}`);
    },
    onLost: ({ reason, waitMs }) => {
      const until = rules.ruleSet === undefined ? 'There is no configuration yet' : 'The last good configuration stays in force';
      log.warn(`no configuration from the management server at ${place} (${reason}). ${until}; next try in ${(waitMs / 1000).toFixed(1)} s.`);
    },
    nowMs: () => performance.now(),
  });
  void client.run();
  return {
    stop: () => {
      client.stop();
    },
  };
}

function credentialsOf(settings: Settings): ChannelCredentials {
  const tls = readXdsTls(settings);
  if (tls === false) return credentials.createInsecure();
  const { ca, identity } = tls;
  return credentials.createSsl(ca === undefined ? null : Buffer.from(ca), identity && Buffer.from(identity.key), identity && Buffer.from(identity.cert));
}

function nodeOf({ configGrpcXdsNodeId: id, configGrpcXdsNodeMetadata: metadata }: Settings) {
  const fields = metadata?.map(([name, value]) => [name, { stringValue: value }] as const);
  return { id, ...(fields && { metadata: { fields: Object.fromEntries(fields) } }), user_agent_name: 'weir', user_agent_version: VERSION };
}
