/** The error of a start with invalid settings. */

export interface SettingProblem {
  /** The environment variable, or the option of a command. */
  readonly name: string;
  /** Says what is wrong and what to do. It never contains the value of a secret. */
  readonly message: string;
}

/** Holds every invalid setting; the message has one line for each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(readonly problems: readonly SettingProblem[]) {
    super(problems.map(({ name, message }) => `${name}: ${message}`).join('\n'));
  }
}
