/* Coherence and leases of one key: 2 instances with memory, a writer at the source, a foreign program that sets the key,
   one Redis, a link for each instance whose notices are delayed, merged and may be lost with the link.
   Checked: at rest, memory and Redis hold nothing or the newest value.

   An instance that serves a value from memory refreshes it. Its write is registered before it is sent; a notice that comes
   for a registered write is held while the version at the server is looked at. The new value takes the old one's place when
   memory is filled; a caller that leaves before that leaves the old one, which the link commits.

   A question for a lease may be sent twice, when its connection ends, and the first arrive at any time later. The second bears
   another record, so what the first takes then is nobody's lease, and runs out.

   `make model` searches three sizes to their end, and for each of these faults a size that shows it.
   Faults to plant, each of which must be found:
     NOFENCE   the store looks neither at the lease nor at the version that it replaces
     NOTICKET  a fill ignores notices that came while it was on its way
     NOCHECK   an own echo is swallowed instead of checked
     LOOSE     a second notice while the look is out is ignored
     BADLOSS   tickets survive the loss of the link
     SWALLOW   a refused store drops the notice that is held for it
     REPLACE   a write that begins drops the notice that is held for the one before
     NOCOMMIT  no process commits what the caller has left
     TWICE     the second question for a lease bears the record of the first                                                 */
#define N 2
#ifndef W
#define W 2                              /* changes at the source */
#endif
#ifndef SETS
#define SETS 1                           /* foreign sets */
#endif
#ifndef GETS
#define GETS 2                           /* gets of the first instance */
#endif
#ifndef OTHERS
#define OTHERS 2                         /* gets of the second */
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef LATES
#define LATES 0                          /* questions for a lease that are sent twice */
#endif
#ifdef NOFENCE
#define UNFENCED true
#else
#define UNFENCED false
#endif
#ifdef NOTICKET
#define UNTICKETED true
#else
#define UNTICKETED false
#endif
byte src = 0;
short val = -1; byte stamp = 0; byte nextstamp = 1;
byte lease = 0;
byte late = 0;                           /* whose first question is still on its way, as a lease has them; 0 for none */
byte lates = LATES;
byte losses = LOSSES;
byte writers = 2;
chan link[N] = [4] of { bit };
bool up[N] = true;

short mem[N] = -1;
bool ticket[N] = false, busy[N] = false;
byte pend[N] = 0;                        /* the version of the registered write, 0 for none */
bool held[N] = false;                    /* a notice is held for it */
byte look[N] = 0, found[N] = 0;          /* the version that a look was sent for; what it has found */
bool asked[N] = false;
bool again[N] = false;                   /* a notice has come since the look was sent */
bool prepared[N] = false;                /* the old value lives beside the new one */

inline notice() {
  byte j; j = 0;
  do :: j < N -> if :: up[j] -> if :: nfull(link[j]) -> link[j]!1 :: nempty(link[j]) -> skip fi :: else -> skip fi; j++
     :: j == N -> break od }
inline void(k) { ticket[k] = false; mem[k] = -1; prepared[k] = false }

proctype Instance(byte i; byte gets) {
  short got; short fetched; byte mine, replaced; bool stored, refresh;
  do
  :: gets > 0 ->
     gets--; busy[i] = true; refresh = false; fetched = -1;
     if
     :: atomic { mem[i] >= 0 -> skip }                                /* a hit */
     :: atomic { mem[i] >= 0 -> refresh = true; ticket[i] = up[i] }   /* a hit that is refreshed meanwhile */
     :: atomic { mem[i] < 0 -> ticket[i] = up[i] }
        atomic { got = val }
        if
        :: got >= 0 -> atomic { if :: (ticket[i] || UNTICKETED) -> mem[i] = got :: else -> skip fi }
        :: else -> refresh = true
        fi
     fi;
     if
     :: refresh ->
        atomic { if
          :: lease != 0 || (mem[i] < 0 && val >= 0) -> refresh = false
          :: else -> lease = 1 + i; replaced = (val >= 0 -> stamp : 0);
               if :: lates > 0 -> lates--; late = 1 + i :: skip fi
          fi }
     :: else -> skip
     fi;
     if
     :: refresh ->
        fetched = src;
        if :: atomic { lease == 1 + i -> lease = 0 } :: skip fi;      /* the lease may expire */
        atomic { mine = nextstamp; nextstamp++;                       /* registered before it is sent */
          if :: up[i] ->
               if :: held[i] ->
#ifndef REPLACE
                    void(i);
#endif
                    held[i] = false
                  :: else -> skip fi;
               pend[i] = mine
             :: else -> skip fi }
        atomic {
          if
          :: ((lease == 1 + i && (val >= 0 -> stamp : 0) == replaced) || UNFENCED)
             -> val = fetched; stamp = mine; lease = 0; stored = true; notice()
          :: else -> stored = false; if :: lease == 1 + i -> lease = 0 :: else -> skip fi
          fi }
        if
        :: stored ->
           if
           :: atomic { (ticket[i] || UNTICKETED) -> prepared[i] = (mem[i] >= 0) };                     /* the new ticket, beside the old one */
              if
              :: atomic { (ticket[i] || UNTICKETED) -> mem[i] = fetched; prepared[i] = false }
              :: atomic { !ticket[i] -> skip }
              :: skip                                                 /* the caller has left */
              fi
           :: atomic { !ticket[i] -> skip }
           fi
        :: else ->
           atomic { if :: pend[i] == mine ->
               pend[i] = 0;
               if :: held[i] ->
                    held[i] = false
#ifndef SWALLOW
                    ; void(i)
#endif
                  :: else -> skip fi
             :: else -> skip fi }
        fi
     :: else -> skip
     fi;
     atomic { ticket[i] = false; busy[i] = false; fetched = -1; mine = 0; replaced = 0; stored = false; refresh = false; got = -1 }
  :: gets == 0 -> break
  od
}

proctype Link(byte i) {
  bit x;
end:
  do
  :: atomic { link[i]?x ->
       if
       :: pend[i] != 0 && !held[i] ->
#ifdef NOCHECK
          pend[i] = 0
#else
          held[i] = true; look[i] = pend[i]; asked[i] = false; again[i] = false
#endif
       :: pend[i] != 0 && held[i] ->
#ifdef LOOSE
          skip
#else
          again[i] = true
       :: pend[i] != 0 && held[i] ->                                  /* too many looks */
          pend[i] = 0; held[i] = false; void(i)
#endif
       :: else -> void(i)
       fi }
  :: atomic { look[i] != 0 && !asked[i] -> asked[i] = true; found[i] = (val >= 0 -> stamp : 0) }
  :: atomic { look[i] != 0 && asked[i] ->
       if
       :: pend[i] == look[i] && held[i] && found[i] == look[i] && again[i] ->
          again[i] = false; found[i] = 0; asked[i] = false
       :: pend[i] == look[i] && held[i] && !(found[i] == look[i] && again[i]) ->
          pend[i] = 0; held[i] = false;
          if :: found[i] == look[i] -> skip :: else -> void(i) fi;
          look[i] = 0; found[i] = 0; asked[i] = false
       :: !(pend[i] == look[i] && held[i]) -> look[i] = 0; found[i] = 0; asked[i] = false
       fi }
  /* A PONG: everything was told. Before trust is extended, what is prepared is committed. */
  :: atomic { prepared[i] && !busy[i] && empty(link[i]) && !held[i] ->
#ifdef NOCOMMIT
       prepared[i] = false
#else
       prepared[i] = false; mem[i] = -1
#endif
     }
  :: atomic { up[i] && losses > 0 -> losses--; up[i] = false;
       do :: nempty(link[i]) -> link[i]?x :: empty(link[i]) -> break od;
#ifndef BADLOSS
       ticket[i] = false;
#endif
       mem[i] = -1; prepared[i] = false; pend[i] = 0; held[i] = false }
  :: atomic { !up[i] -> up[i] = true; mem[i] = -1; prepared[i] = false; pend[i] = 0; held[i] = false
#ifndef BADLOSS
       ; ticket[i] = false
#endif
     }
  od
}

proctype Network() {                                                  /* what was sent twice arrives */
end:
  do
  :: atomic { late != 0 ->
       if
       :: lease == 0 && val < 0 ->
#ifdef TWICE
          lease = late
#else
          lease = 1 + N
#endif
       :: else -> skip
       fi;
       late = 0 }
  :: atomic { lease == 1 + N -> lease = 0 }                           /* nobody's lease runs out */
  od
}

proctype Writer() {                                                   /* changes the source, then invalidates */
  byte k = 0;
  do
  :: k < W -> src = src + 1;
       atomic { if :: val >= 0 -> notice() :: else -> skip fi; val = -1; stamp = 0; lease = 0 };
       k++
  :: k == W -> break
  od;
  writers--
}

proctype Foreign() {                                                  /* knows nothing of leases, and sets what is true */
  byte k = 0;
  do
  :: k < SETS -> atomic { val = src; stamp = nextstamp; nextstamp++; notice() }; k++
  :: k == SETS -> break
  od;
  writers--
}

init { atomic { run Instance(0, GETS); run Instance(1, OTHERS); run Link(0); run Link(1); run Writer(); run Foreign();
  if :: LATES > 0 -> run Network() :: else -> skip fi } }

#define still(i) (!busy[i] && len(link[i]) == 0 && look[i] == 0 && !prepared[i])
#define rest (writers == 0 && still(0) && still(1))
#define right(v) ((v) == -1 || (v) == src)
active proctype Monitor() { end: atomic { rest && !(right(mem[0]) && right(mem[1]) && right(val)) -> assert(false) } }
