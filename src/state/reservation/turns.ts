/** One step of a reservation at a time: a step waits for those of the same name that began before. */

export class Turns {
  /** By name, the end of its last step. Names without a step are not in it. */
  private readonly last = new Map<string, Promise<unknown>>();

  /** The steps of this process alone; those of others meet in Redis. */
  take<Answer>(name: string, step: () => Promise<Answer>): Promise<Answer> {
    const before = this.last.get(name);
    const answer = before === undefined ? step() : before.then(step, step);
    this.last.set(name, answer);
    const end = (): void => {
      if (this.last.get(name) === answer) this.last.delete(name);
    };
    answer.then(end, end);
    return answer;
  }
}
