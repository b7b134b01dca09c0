/** Certificates that are named while TLS is off: whoever names them wants TLS, and would go without it unknowingly. */

import { SettingsError } from './settings-error';

export interface IdleTlsInput {
  /** The setting that turns TLS on. */
  readonly turnedOnBy: string;
  /** What is of no use without it, each by its name; undefined: it is not set. */
  readonly idle: Readonly<Record<string, unknown>>;
}

/** @throws SettingsError if any of them is set */
export function refuseIdleTls({ turnedOnBy, idle }: IdleTlsInput): void {
  const message = `it is set, but TLS is off; set ${turnedOnBy}=true, or leave it unset`;
  const names = Object.keys(idle).filter((name) => idle[name] !== undefined);
  if (names.length > 0) throw new SettingsError(names.map((name) => ({ name, message })));
}
