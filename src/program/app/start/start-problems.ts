/** Collects the problems of a start, so that one report has all of them. */

import { SettingsError, type SettingProblem } from '../../../configuration/settings/table/settings-error';

export class StartProblems {
  private readonly found: SettingProblem[];

  /** `unread`: settings with an invalid value. Problems of other steps with them follow from that, and are left out. */
  constructor(private readonly unread: readonly SettingProblem[]) {
    this.found = [...unread];
  }

  /** Returns the result of the step, or undefined if it throws a SettingsError, whose problems are added. */
  try<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      this.add(error.problems);
      return undefined;
    }
  }

  add(problems: readonly SettingProblem[]): void {
    for (const problem of problems) {
      const follows = this.unread.some(({ name }) => mentions(`${problem.name} ${problem.message}`, name));
      const isKnown = this.found.some(({ name, message }) => name === problem.name && message === problem.message);
      if (!follows && !isKnown) this.found.push(problem);
    }
  }

  get all(): readonly SettingProblem[] {
    return this.found;
  }
}

/** Whether the text has the name as a whole word. */
function mentions(text: string, name: string): boolean {
  return text.split(/[^A-Z0-9_]+/i).includes(name);
}
