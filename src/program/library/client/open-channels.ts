/** Opens the connections of a client: each channel connects to every address of the name and takes them in turn. */

import { Client, credentials, type ChannelCredentials, type ChannelOptions } from '@grpc/grpc-js';
import { VERSION } from '../../app/context/version';
import { tlsCredentials } from '../../../server/transport/grpc/client-credentials';
import type { ClientSettings } from './client-settings';

const OPTIONS: ChannelOptions = {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // Without it, channels to one address share a connection.
  'grpc.use_local_subchannel_pool': 1,
  // A retry would count hits twice.
  'grpc.enable_retries': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.primary_user_agent': `weir-client/${VERSION}`,
};

export function openChannels({ address, connections, tls }: Pick<ClientSettings, 'address' | 'connections' | 'tls'>): readonly Client[] {
  const secured = credentialsOf(tls);
  return Array.from({ length: connections }, () => {
    const channel = new Client(address, secured, OPTIONS);
    // Begins to connect.
    channel.getChannel().getConnectivityState(true);
    return channel;
  });
}

function credentialsOf(tls: ClientSettings['tls']): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  return tlsCredentials({ authorities: toBuffer(tls.ca), certificate: toBuffer(tls.cert), key: toBuffer(tls.key) });
}

function toBuffer(pem: string | Buffer | undefined): Buffer | undefined {
  return typeof pem === 'string' ? Buffer.from(pem) : pem;
}
