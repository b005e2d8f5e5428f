/* Changes that only those are told of who have read the key: one key, an instance with memory and two connections for
   commands, others that change the key, one Redis with its table of who has read what. Notices come over a link, late, merged
   and lost with it. The instance changes between being told of every change (broadcast) and of what it has read (per key)
   while it works. To it another instance is like any program that changes the key, so one is enough.
   Checked: at rest, memory holds nothing or what Redis holds, or what the source holds: a read may go past Redis. Others change
   the source first, then Redis.

   What lies in memory may be there only while a change of it would be told: every change is, or the table has the instance for
   the key. A read enters the connection; a notice takes both connections out; a script that writes reads the key behind its
   write, which enters the connection again. Before a read goes past Redis, the key is touched there.

   `make model` searches three sizes to their end, and for each of these faults a size that shows it.
   Faults to plant, each of which must be found:
     NOREAD    a script that writes does not read the key behind its write
     UNTOUCHED the key is not touched before a read goes past Redis
     LATETOUCH it is touched after the source was asked
     KEEPDATA  memory outlives the loss of a connection for commands
     IGNORED   a connection that is made anew, and refused to be tracked, is relied on
     SOON      the end of broadcast does not void what was read before the connections were tracked
     NOTRACK   broadcast ends although one connection is not tracked
     LOOSE     a second notice while the look is out is ignored
     QUIETFULL the server makes room in its table and tells nobody
     KEEPLINK  memory outlives the loss of the link
     EARLY     the connections are tracked no longer before every change is told
     HASTE     a connection is not relied on any more before it has answered that it is tracked no longer               */
#ifndef SETS
#define SETS 2                           /* changes by others */
#endif
#ifndef GETS
#define GETS 2                           /* reads and sets of the instance */
#endif
#ifndef LOSSES
#define LOSSES 1                         /* of the link or of a connection */
#endif
#ifndef TURNS
#define TURNS 1                          /* changes of the mode */
#endif
#ifndef ROOM
#define ROOM 1                           /* times that the table is full */
#endif
#ifdef PERKEY
#define CAST false
#else
#define CAST true
#endif

byte val = 1, next = 2;                  /* the version that Redis holds, 0 for none; the next one */
byte source = 1;                         /* the version that the source holds */
byte losses = LOSSES, turns = TURNS, room = ROOM;
bool others = true;                      /* may still change the key */
chan link = [3] of { bit };
bool up = true;
bool cast = CAST;                        /* told of every change */
bool tracked[2] = !CAST;                 /* a connection is tracked */
bool entered[2] = false;                 /* it is in the table */
bool dead[2] = false;                    /* the server has dropped it, and the instance does not know yet */
bool relied[2] = !CAST;                  /* memory may hold what only the connection is told of */
byte mem = 0;
bool ticket = false, busy = false;
byte pend = 0;                           /* the version of the registered write */
bool held = false;                       /* a notice is held for it */
byte look = 0, found = 0;                /* the version that a look was sent for; what it has found */
bool asked = false;
bool again = false;                      /* a notice has come since the look was sent */

inline notice() {                        /* in the step that changes the key */
  if :: up && (cast || entered[0] || entered[1]) -> if :: nfull(link) -> link!1 :: nempty(link) -> skip fi :: else -> skip fi;
  entered[0] = false; entered[1] = false }
inline enter(c) { entered[c] = entered[c] || tracked[c] }
inline track(c) { if :: tracked[c] = !dead[c] :: skip fi }   /* it may be refused */
inline untrack(c) {
#ifdef HASTE
  relied[c] = false;
#endif
  if :: !dead[c] -> tracked[c] = false; entered[c] = false; relied[c] = false :: else -> skip fi }
inline touch(c) { if :: dead[c] -> ticket = false :: else -> enter(c) fi }
inline void() { ticket = false; mem = 0 }
inline forget() { pend = 0; held = false; again = false }

active proctype Instance() {
  byte gets = GETS; byte got, mine; bit c;
  do
  :: gets > 0 ->
     gets--; busy = true;
     if :: c = 0 :: c = 1 fi;
     if
     :: atomic { mem == 0 -> ticket = up }                            /* a read below */
        atomic { if :: dead[c] -> got = 0 :: else -> got = val; enter(c) fi }
        atomic { if :: ticket && got != 0 -> mem = got :: else -> skip fi }
     :: atomic { mem == 0 -> ticket = up }                            /* a read past Redis */
#if !defined(UNTOUCHED) && !defined(LATETOUCH)
        atomic { touch(c) }
#endif
        atomic { got = source }
#ifdef LATETOUCH
        atomic { touch(c) }
#endif
        atomic { if :: ticket -> mem = got :: else -> skip fi }
     :: atomic { mine = next; next++; source = mine;                  /* a set */
                 if :: held -> void(); held = false; again = false :: else -> skip fi;
                 ticket = up; pend = (up -> mine : pend) }
        atomic {
          if
          :: dead[c] -> got = 0; void(); if :: pend == mine -> forget() :: else -> skip fi
          :: else ->
             notice(); val = mine; got = mine;
#ifndef NOREAD
             enter(c)
#endif
          fi }
        atomic { mem = (ticket && got != 0 -> got : 0) }
     fi;
     atomic { ticket = false; busy = false; got = 0; mine = 0; c = 0 }
  :: gets == 0 -> break
  od
}

active proctype Link() {
  bit x, c;
end:
  do
  :: atomic { link?x ->
       if
       :: pend != 0 && !held -> held = true; look = pend; asked = false; again = false
#ifdef LOOSE
       :: pend != 0 && held -> skip
#else
       :: pend != 0 && held -> again = true
       :: pend != 0 && held -> forget(); void()                      /* too many looks */
#endif
       :: else -> void()
       fi }
  /* The look is a read, too, over the first connection. */
  :: atomic { look != 0 && !asked -> asked = true; if :: dead[0] -> found = 0 :: else -> found = val; enter(0) fi }
  :: atomic { look != 0 && asked ->
       if
       :: pend == look && held && found == look && again -> again = false; found = 0; asked = false
       :: pend == look && held && !(found == look && again) -> forget(); if :: found == look -> skip :: else -> void() fi;
          look = 0; found = 0; asked = false
       :: !(pend == look && held) -> look = 0; found = 0; asked = false
       fi }
  /* A PONG: what was changed before the ping was told, so a write from before has no echo to come. */
  :: atomic { up && pend != 0 && !held && !busy && empty(link) -> pend = 0 }
  /* The link is lost, and made anew. */
  :: atomic { up && losses > 0 -> losses--; up = false;
       do :: nempty(link) -> link?x :: empty(link) -> break od;
       forget();
#ifndef KEEPLINK
       void()
#endif
     }
  :: atomic { !up -> up = true; forget();
#ifndef KEEPLINK
       void()
#endif
     }
  /* A connection is lost: at the server first. Then the instance hears of it, and makes another. */
  :: atomic { losses > 0 -> losses--; if :: c = 0 :: c = 1 fi;
       dead[c] = true; entered[c] = false; tracked[c] = false; c = 0 }
  :: atomic { dead[0] || dead[1] ->
       c = (dead[0] -> 0 : 1);
       dead[c] = false; if :: tracked[c] = !cast :: skip fi;          /* it may be refused, which it hears before it reads */
#ifndef KEEPDATA
       if :: relied[c] -> void(); forget() :: else -> skip fi;
#endif
       relied[c] = !cast;
#ifndef IGNORED
       /* Then the link is made anew, and told of every change. */
       if :: !cast && !tracked[c] && up -> cast = true; up = false; void(); forget();
             do :: nempty(link) -> link?x :: empty(link) -> break od
          :: !cast && !tracked[c] && !up -> cast = true
          :: else -> skip fi;
#endif
       c = 0 }
  /* From broadcast: the connections are tracked one by one, then all is voided, then broadcast ends. */
  :: atomic { cast && turns > 0 && up -> turns--; track(0) }
     atomic { track(1) }
     atomic {
       if
#ifdef NOTRACK
       :: up ->
#else
       :: up && tracked[0] && tracked[1] ->
#endif
#ifndef SOON
          void(); forget();
#endif
          cast = false; relied[0] = true; relied[1] = true
       :: else -> skip
       fi }
  /* To broadcast: first every change is told, then the connections need not be tracked. Each is relied on until it answers. */
  :: atomic { !cast && turns > 0 && up -> turns--;
#ifdef EARLY
       untrack(0); untrack(1) }
     atomic { cast = true }
#else
       cast = true }
     atomic { untrack(0) }
     atomic { untrack(1) }
#endif
  od
}

active proctype Others() {
  byte k = SETS, new = 0;
  do
  :: k > 0 -> atomic { new = next; next++; source = new }
     atomic { notice(); if :: val = new :: val = 0 fi; k--; new = 0 }
  /* The table is full: the server takes the key out, and tells those who had it. */
  :: room > 0 -> atomic { room--;
#ifdef QUIETFULL
       entered[0] = false; entered[1] = false
#else
       notice()
#endif
     }
  :: k == 0 -> break
  od;
  others = false
}

#define still (!others && !busy && empty(link) && look == 0 && !dead[0] && !dead[1])
active proctype Monitor() { end: atomic { still && mem != 0 && mem != val && mem != source -> assert(false) } }
