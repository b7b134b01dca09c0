/** Shares top keys through Redis: one text for each process and window. */

import type { PublishedTexts } from '../instances/published-texts';
import type { Publication, TopExchange, TopPlace } from './exchange';

export class RedisExchange implements TopExchange {
  constructor(
    private readonly texts: PublishedTexts,
    readonly name: string,
  ) {}

  instances(): Promise<readonly string[]> {
    return this.texts.names();
  }

  read(place: TopPlace): Promise<string | undefined> {
    return this.texts.read(nameOf(place));
  }

  publish({ minutes, text, ttlMs }: Publication): Promise<void> {
    return this.texts.write(nameOf({ instance: this.name, minutes }), text, { ttlMs });
  }
}

function nameOf({ instance, minutes }: TopPlace): string {
  return `top:${instance}:${minutes}`;
}
