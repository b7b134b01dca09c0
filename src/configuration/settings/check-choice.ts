/** Whether /check is served, and what it makes of a request. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import type { DescriptorPlan } from '../../domain/descriptor/entry-source';
import type { Settings } from './table/settings';
import { SettingsError } from './table/settings-error';

export type CheckSettings = Pick<Settings, 'checkDomain' | 'checkDescriptors' | 'checkTrustedHops' | 'checkHitsHeader'>;

export interface CheckChoice {
  readonly domain: ByteString;
  readonly descriptors: readonly DescriptorPlan[];
  readonly trustedHops: number;
  /** In lower case; absent: one hit. */
  readonly hitsHeader?: string;
}

/** Undefined: it is not served. Throws SettingsError if only one of the two settings is there. */
export function chooseCheck({ checkDomain, checkDescriptors, checkTrustedHops, checkHitsHeader }: CheckSettings): CheckChoice | undefined {
  if (checkDomain === undefined && checkDescriptors === undefined) return undefined;
  const message = 'it is not set, but /check needs CHECK_DOMAIN and CHECK_DESCRIPTORS; set both, or none';
  if (checkDomain === undefined) throw new SettingsError([{ name: 'CHECK_DOMAIN', message }]);
  if (checkDescriptors === undefined) throw new SettingsError([{ name: 'CHECK_DESCRIPTORS', message }]);
  return {
    domain: toByteString(checkDomain),
    descriptors: checkDescriptors,
    trustedHops: checkTrustedHops,
    ...(checkHitsHeader !== undefined && { hitsHeader: checkHitsHeader.toLowerCase() }),
  };
}
