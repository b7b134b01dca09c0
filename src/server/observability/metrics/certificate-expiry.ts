/** The metric of certificate files besides the one of the gRPC port: when each ends. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import { OneAtATime } from '../../../lib/one-at-a-time';
import type { MetricRow } from './metrics';
import { registerRead, type ReadValue } from './metrics-snapshot';

export const CERTIFICATE_METRIC = {
  type: 'gauge',
  name: 'weir_certificate_expiry_timestamp_seconds',
  labels: ['setting'],
  help: 'Expiry of the first certificate of ADMIN_TLS_CERT, REDIS_TLS_CLIENT_CERT or CONFIG_GRPC_XDS_CLIENT_TLS_CERT, in Unix time.',
} as const satisfies MetricRow;

/** A setting, and the file that it names. */
export interface CertificateFile {
  readonly setting: string;
  readonly file: string | undefined;
}

export class CertificateExpiry {
  private values: readonly ReadValue[] = [];
  private readonly reading = new OneAtATime(async () => {
    this.values = (await Promise.all(this.files.map(expiryOf))).flat();
    for (const { labels, value } of this.values) this.onRead(String(labels.setting), value);
  });

  constructor(
    registry: Registry,
    private readonly files: readonly CertificateFile[],
    private readonly onRead: (setting: string, endsAtS: number) => void = () => undefined,
  ) {
    const { name, help, type } = CERTIFICATE_METRIC;
    registerRead(registry, {
      name,
      help,
      type,
      values: () => {
        // A reading shows the files as the reading before found them, so that it waits for no file system.
        void this.refresh();
        return this.values;
      },
    });
    void this.refresh();
  }

  /** Reads the files again. */
  refresh(): Promise<void> {
    return this.reading.run();
  }
}

async function expiryOf({ setting, file }: CertificateFile): Promise<ReadValue[]> {
  if (file === undefined) return [];
  try {
    const { validTo } = new X509Certificate(await readFile(file));
    return [{ labels: { setting }, value: Date.parse(validTo) / 1000 }];
  } catch {
    // The part of Weir that uses the file reports what is wrong with it.
    return [];
  }
}
