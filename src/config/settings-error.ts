/** What is wrong with the environment: the error that a start with bad settings ends with. */

export interface SettingProblem {
  /** The environment variable, or the option of a command. */
  readonly name: string;
  /** What is wrong and what to do; holds no value of a secret setting. */
  readonly message: string;
}

/** Every bad setting at once; the message is one line for each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(readonly problems: readonly SettingProblem[]) {
    super(problems.map(({ name, message }) => `${name}: ${message}`).join('\n'));
  }
}
