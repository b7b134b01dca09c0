/** Rejects certificate settings while TLS is off, because their operator expects TLS. */

import { SettingsError } from '../table/settings-error';

export interface UnusedTlsInput {
  /** The setting that turns TLS on. */
  readonly turnedOnBy: string;
  /** The settings that need TLS, by name; undefined: not set. */
  readonly unused: Readonly<Record<string, unknown>>;
}

/** @throws SettingsError if any of them is set */
export function refuseUnusedTls({ turnedOnBy, unused }: UnusedTlsInput): void {
  const message = `it is set, but TLS is off; set ${turnedOnBy}=true, or leave it unset`;
  const names = Object.keys(unused).filter((name) => unused[name] !== undefined);
  if (names.length > 0) throw new SettingsError(names.map((name) => ({ name, message })));
}
