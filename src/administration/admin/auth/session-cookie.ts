/** The cookie of a session: its name, and how it is read and written. */

export interface SessionCookieOptions {
  /** Part of the name, because browsers send the cookies of a host to all of its ports. */
  readonly port: number;
  /** With TLS the browser sends it over TLS only. */
  readonly isSecure: boolean;
}

/** Longest value of the header Cookie that is read. */
const HEADER_MAX = 8_192;

const ID = /^[\w-]{43}$/;

export class SessionCookie {
  private readonly name: string;

  constructor(private readonly options: SessionCookieOptions) {
    this.name = `${options.isSecure ? '__Host-' : ''}weir_session_${options.port}`;
  }

  /** The identifier of the session; undefined: the request has none. */
  read(header: string | undefined): string | undefined {
    if (header === undefined || header.length > HEADER_MAX) return undefined;
    const start = `${this.name}=`;
    const found = header
      .split(';')
      .map((each) => each.trim())
      .find((each) => each.startsWith(start))
      ?.slice(start.length);
    return found !== undefined && ID.test(found) ? found : undefined;
  }

  /** The value of Set-Cookie. An empty identifier removes the cookie. */
  write(id: string): string {
    const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict'];
    if (this.options.isSecure) attributes.push('Secure');
    if (id === '') attributes.push('Max-Age=0');
    return [`${this.name}=${id}`, ...attributes].join('; ');
  }
}
