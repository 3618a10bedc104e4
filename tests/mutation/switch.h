// Tokens that the environment switches when the program starts. With them all mutants of a file
// compile at once, which is several times as fast as one by one:
//
//   a < b    is spelled    a < coppice_mutation::Less<7>() < b
//
// and is a < b, or a <= b if mutant 7 is chosen, or a >= b if mutant 8 is. The operator is the
// same, and so is its precedence.

#ifndef COPPICE_TESTS_MUTATION_SWITCH_H_
#define COPPICE_TESTS_MUTATION_SWITCH_H_

extern int coppice_mutant;  // 0 changes nothing

namespace coppice_mutation {

#define COPPICE_SWITCH(Name, op, first, second)                \
  template <int kNumber>                                       \
  struct Name {};                                              \
  template <int kNumber, typename A>                           \
  struct Name##With {                                          \
    A&& a;                                                     \
  };                                                           \
  template <int kNumber, typename A>                           \
  Name##With<kNumber, A> operator op(A&& a, Name<kNumber>) {   \
    return {static_cast<A&&>(a)};                              \
  }                                                            \
  template <int kNumber, typename A, typename B>               \
  auto operator op(Name##With<kNumber, A> left, B&& b) {       \
    if (coppice_mutant == kNumber) return left.a first b;      \
    if (coppice_mutant == kNumber + 1) return left.a second b; \
    return left.a op b;                                        \
  }
COPPICE_SWITCH(Less, <, <=, >=)
COPPICE_SWITCH(LessEqual, <=, <, >)
COPPICE_SWITCH(Greater, >, >=, <=)
COPPICE_SWITCH(GreaterEqual, >=, >, <)
COPPICE_SWITCH(Equal, ==, !=, ==)
COPPICE_SWITCH(NotEqual, !=, ==, !=)
COPPICE_SWITCH(Plus, +, -, +)
COPPICE_SWITCH(Minus, -, +, -)
COPPICE_SWITCH(Left, <<, >>, <<)
COPPICE_SWITCH(Right, >>, <<, >>)
#undef COPPICE_SWITCH

// Assignments group from the right.
#define COPPICE_SWITCH(Name, op, instead)                    \
  template <int kNumber>                                     \
  struct Name {};                                            \
  template <int kNumber, typename B>                         \
  struct Name##With {                                        \
    B&& b;                                                   \
  };                                                         \
  template <int kNumber, typename B>                         \
  Name##With<kNumber, B> operator op(Name<kNumber>, B&& b) { \
    return {static_cast<B&&>(b)};                            \
  }                                                          \
  template <int kNumber, typename A, typename B>             \
  A& operator op(A& a, Name##With<kNumber, B> right) {       \
    if (coppice_mutant == kNumber) return a instead right.b; \
    return a op right.b;                                     \
  }
COPPICE_SWITCH(Add, +=, -=)
COPPICE_SWITCH(Subtract, -=, +=)
COPPICE_SWITCH(ShiftLeft, <<=, >>=)
COPPICE_SWITCH(ShiftRight, >>=, <<=)
#undef COPPICE_SWITCH

// Goes before an operand: ->* binds nearly as tightly as the operator that it replaces.
#define COPPICE_SWITCH(Name, op, instead)             \
  template <int kNumber>                              \
  struct Name {};                                     \
  template <int kNumber, typename A>                  \
  decltype(auto) operator->*(Name<kNumber>, A&& a) {  \
    if (coppice_mutant == kNumber) return instead(a); \
    return op(a);                                     \
  }
COPPICE_SWITCH(Increment, ++, --)
COPPICE_SWITCH(Decrement, --, ++)
COPPICE_SWITCH(Negate, -, +)
#undef COPPICE_SWITCH

}  // namespace coppice_mutation

#endif  // COPPICE_TESTS_MUTATION_SWITCH_H_
